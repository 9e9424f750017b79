"""A pipe that nobody reads holds up nobody but itself."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.chat.surface import SurfaceFailed
from bot.chat.terminal.notifier import TerminalSurface
from bot.chat.terminal.render import Screen
from bot.process.outlet import Outlet
from lifecycle.records import Message
from tests.builders import NOW_MS
from tests.conftest import ROOT
from tests.fakes.discord_stage import until

Pipe = tuple[int, Outlet]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="ascii") as stream:
        yield reading, Outlet(stream)
    try:
        os.close(reading)
    except OSError:
        return


async def test_what_is_written_arrives_whole_and_in_order(pipe: Pipe) -> None:
    reading, outlet = pipe
    for number in range(100):
        outlet.write(f"{number} grüße\n")
    await outlet.settled()

    lines = os.read(reading, 65_536).decode("ascii").splitlines()
    assert lines == [f"{number} gr\\xfc\\xdfe" for number in range(100)]


async def test_a_card_that_nobody_reads_is_not_shown(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.process.outlet._PATIENCE_S", 0.05)
    surface = TerminalSurface(Screen(pipe[1]))
    message = Message("k", "terminal", "", "note", {"text": "x" * 200_000}, NOW_MS)

    with pytest.raises(SurfaceFailed, match="nobody reads"):
        await surface.say(message)
    while os.read(pipe[0], 65_536).count(b"x") == 65_536:
        pass


async def test_who_waits_behind_one_that_waited_in_vain_waits_no_more(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk each card took five seconds, and a ❌ typed meanwhile its turn after all."""
    reading, outlet = pipe
    monkeypatch.setattr("bot.process.outlet._PATIENCE_S", 0.05)
    outlet.write("x" * 200_000)
    with pytest.raises(OSError, match="nobody reads"):
        await outlet.settled()
    monkeypatch.setattr("bot.process.outlet._PATIENCE_S", 3_600)

    async with asyncio.timeout(20):
        with pytest.raises(OSError, match="nobody reads"):
            await outlet.settled()
    while os.read(reading, 65_536).count(b"x") == 65_536:
        pass
    await until(lambda: not outlet.waiting_bytes, "all is written")
    outlet.write("y")
    await outlet.settled()


async def test_a_reader_that_went_away_is_told_with_the_next_line(pipe: Pipe) -> None:
    reading, outlet = pipe
    os.close(reading)
    outlet.write("into the void\n")
    with pytest.raises(BrokenPipeError):
        await outlet.settled()
    with pytest.raises(BrokenPipeError):
        outlet.write("again\n")


async def test_there_is_an_end_to_what_may_wait(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.process.outlet.Outlet.most_bytes", 100_000)
    pipe[1].write("x" * 90_000)
    with pytest.raises(OSError, match="nobody reads"):
        pipe[1].write("x" * 20_000)
    while os.read(pipe[0], 65_536).count(b"x") == 65_536:
        pass


def waiting_in(descriptor: int) -> int:
    """Return how many bytes stand in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, b"    "), sys.byteorder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bot_whose_output_nobody_reads_ends_with_0(tmp_path: Path, number: int) -> None:
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    bot = subprocess.Popen(
        [sys.executable, "-m", "bot", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert bot.stdin is not None
    assert bot.stdout is not None
    try:
        bot.stdin.write(b"pending\n")
        bot.stdin.flush()
        assert bot.stdout.readline() == b"0 pending\n"
        bot.stdin.write(b"help\n" * 400)  # far more than a pipe holds
        bot.stdin.flush()
        while waiting_in(bot.stdout.fileno()) < 60_000:
            time.sleep(0.01)
        bot.send_signal(number)
        assert bot.wait(20) == 0
    finally:
        bot.kill()
        bot.wait()
        bot.stdin.close()
        bot.stdout.close()
