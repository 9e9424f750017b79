"""A name server that does not answer holds up those who look names up, and nobody else."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from bot.process.lookups import look_up_apart
from bot.process.pool import started_pool

#: More than any pool has threads.
MANY = 64


class NameServer:
    """Stands in the place of the system's resolver: some names are answered once it is told so."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, *rest: int) -> list[Any]:
        self.asked.append(host)
        if host.startswith("silent"):
            self.answers.wait(60)
        if host.endswith(".nowhere"):
            raise socket.gaierror(errno.ENOENT, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("192.0.2.1", port))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    server = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", server)
    yield server
    server.answers.set()


@pytest.fixture
async def loop() -> asyncio.AbstractEventLoop:
    """A loop as that of a running bot."""
    running = asyncio.get_running_loop()
    running.set_default_executor(started_pool())
    look_up_apart(running)
    return running


async def begun(*lookups: Any) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.ensure_future(each) for each in lookups]
    await asyncio.sleep(0)
    return tasks


async def test_work_of_our_own_waits_for_no_name(
    loop: asyncio.AbstractEventLoop, names: NameServer
) -> None:
    waiting = await begun(*(loop.getaddrinfo(f"silent-{each}", 80) for each in range(MANY)))

    assert await asyncio.wait_for(asyncio.to_thread(int), 20) == 0

    names.answers.set()
    assert len(await asyncio.gather(*waiting)) == MANY


async def test_whoever_asks_for_a_name_that_is_waited_for_takes_no_thread_from_other_names(
    loop: asyncio.AbstractEventLoop, names: NameServer
) -> None:
    waiting = await begun(*(loop.getaddrinfo("silent", 80) for _ in range(MANY)))

    found = await asyncio.wait_for(loop.getaddrinfo("other", 81), 20)

    assert found == [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("192.0.2.1", 81))]
    names.answers.set()
    told = await asyncio.gather(*waiting)
    assert {each[0][4] for each in told} == {("192.0.2.1", 80)}
    assert names.asked.count("silent") == 1


async def test_who_waits_no_more_takes_the_answer_from_nobody(
    loop: asyncio.AbstractEventLoop, names: NameServer
) -> None:
    gone, stays = await begun(loop.getaddrinfo("silent", 80), loop.getaddrinfo("silent", 80))
    gone.cancel()
    await asyncio.wait([gone])

    names.answers.set()

    assert gone.cancelled()
    assert await asyncio.wait_for(stays, 20)


async def test_what_nobody_waits_for_any_more_stands_before_no_other_name(
    loop: asyncio.AbstractEventLoop, names: NameServer
) -> None:
    """Calls give up, and come again: a platform that is asked for meanwhile has its turn."""
    gone = await begun(*(loop.getaddrinfo(f"silent-{each}", 80) for each in range(MANY)))
    await asyncio.sleep(0)  # in which they are put into the queue
    for each in gone:
        each.cancel()
    await asyncio.wait(gone)
    *again, platform = await begun(
        loop.getaddrinfo("silent-63", 80), loop.getaddrinfo("platform", 443)
    )

    names.answers.set()

    assert await asyncio.wait_for(platform, 20)
    assert await asyncio.wait_for(again[0], 20)
    assert len(names.asked) <= 8 + 2
    assert names.asked.count("silent-63") == 1


async def test_a_name_that_nobody_knows_is_said_to_all_and_asked_for_anew_the_next_time(
    loop: asyncio.AbstractEventLoop, names: NameServer
) -> None:
    both = await begun(*(loop.getaddrinfo("silent.nowhere", 80) for _ in range(2)))
    names.answers.set()

    said = await asyncio.gather(*both, return_exceptions=True)

    assert [type(each) for each in said] == [socket.gaierror, socket.gaierror]
    with pytest.raises(socket.gaierror):
        await loop.getaddrinfo("silent.nowhere", 80)
    assert names.asked.count("silent.nowhere") == 2


async def test_what_no_name_can_be_ends_no_thread(loop: asyncio.AbstractEventLoop) -> None:
    """A label of a host may have 63 characters."""
    for _ in range(MANY):
        with pytest.raises(ValueError, match="label"):
            await asyncio.wait_for(loop.getaddrinfo("ä" * 64, 80), 20)


def test_the_end_waits_for_no_name(names: NameServer) -> None:
    async def asks() -> None:
        look_up_apart(asyncio.get_running_loop())
        await begun(asyncio.get_running_loop().getaddrinfo("silent", 80))

    ended = threading.Thread(target=lambda: asyncio.run(asks()), daemon=True)
    ended.start()
    ended.join(20)

    assert not ended.is_alive()
