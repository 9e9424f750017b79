"""A terminal whose descriptors somebody else made non-blocking: nothing yet is no end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from bot.chat.terminal.lines import Lines
from bot.process.outlet import Outlet

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue  # closed by the test


async def test_an_input_that_has_nothing_yet_has_not_ended(pipe: Pipe) -> None:
    reading, writing = pipe
    lines = Lines(reading, print)

    first = asyncio.create_task(lines.next())
    await asyncio.wait({first}, timeout=0.2)
    assert not first.done()
    os.write(writing, b"pending\nlast")
    assert await asyncio.wait_for(first, 5) == b"pending"
    os.close(writing)
    assert await asyncio.wait_for(lines.next(), 5) == b"last"
    assert await asyncio.wait_for(lines.next(), 5) is None


async def test_an_output_that_has_no_room_yet_is_not_gone(pipe: Pipe) -> None:
    reading, writing = pipe
    with os.fdopen(writing, "w", closefd=False) as stream:
        outlet = Outlet(stream)
        outlet.write("x" * 500_000 + "\n")
        read = 0
        while read < 500_001:
            await asyncio.sleep(0)
            try:
                read += len(os.read(reading, 65_536))
            except BlockingIOError:
                await asyncio.sleep(0.01)

        await outlet.settled()
        outlet.write("and more\n")
        await outlet.settled()
        assert os.read(reading, 100) == b"and more\n"
