"""Callers are turned away if no file may be opened, and nobody is left when listening ends."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from aiohttp import web

from bot.chat.slack.callers import Callers, listening
from bot.process.listening import ListeningSocket, listeners, stopped

FULL = b"come again"
CALLERS = 5
#: More than the tests have open, and soon taken.
MOST = 512


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open nothing, until this is left."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST, before[1]))
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)


async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"welcome")
    writer.close()


def free_place() -> tuple[str, int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()


async def heard_by(caller: socket.socket, place: tuple[str, int]) -> bytes:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(10):
        await loop.sock_connect(caller, place)
        return await loop.sock_recv(caller, 64)


async def last_words_to(caller: socket.socket) -> bytes:
    """Return what a caller still hears: nothing, whether it is hung up on or was never accepted."""
    caller.setblocking(False)
    async with asyncio.timeout(10):
        try:
            return await asyncio.get_running_loop().sock_recv(caller, 64)
        except ConnectionResetError:
            return b""


#: Among them are the turns of the loop in which a caller is accepted and has no protocol yet.
@pytest.fixture(params=range(5))
def turns(request: pytest.FixtureRequest) -> Callable[[], Awaitable[None]]:
    """Let the loop go round so often."""

    async def pass_by() -> None:
        for _ in range(request.param):
            await asyncio.sleep(0)

    return pass_by


async def test_whoever_is_accepted_while_a_server_stops_can_be_hung_up_on(turns) -> None:
    met: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, caller: met.append(caller), "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as caller:
        await turns()
        await stopped(server)
        for each in met:
            each.close()
        assert await last_words_to(caller) == b""
    assert not server.is_serving()


async def test_the_door_for_events_of_slack_leaves_nobody_who_calls_while_it_ends(turns) -> None:
    place = free_place()
    async with listening(web.Application(), Callers(), *place):
        caller = socket.create_connection(place)
        await turns()
    with caller:
        assert await last_words_to(caller) == b""


async def test_a_server_that_is_cut_off_while_it_stops_is_closed_all_the_same() -> None:
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    stopping = asyncio.create_task(stopped(server))
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])
    assert stopping.cancelled()
    assert not server.is_serving()


async def test_callers_are_turned_away_and_the_log_is_not_filled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = ListeningSocket(socket.AF_INET, FULL)
    door.bind(("127.0.0.1", 0))
    server = await asyncio.start_server(greet, sock=door)
    place = door.getsockname()
    callers = [socket.socket() for _ in range(CALLERS + 1)]
    for caller in callers:
        caller.setblocking(False)

    with caplog.at_level(logging.WARNING), no_more_files():
        heard = [await heard_by(caller, place) for caller in callers[1:]]

    assert heard == [FULL] * CALLERS
    (told,) = caplog.records
    assert "connections are turned away (Too many open files)" in told.message
    assert await heard_by(callers[0], place) == b"welcome"
    server.close()
    for caller in callers:
        caller.close()


async def test_who_sends_events_of_slack_is_turned_away_and_the_log_is_not_filled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = free_place()
    with socket.socket() as caller, caplog.at_level(logging.WARNING):
        caller.setblocking(False)
        async with listening(web.Application(), Callers(), "localhost", place[1]):
            with no_more_files():
                heard = await heard_by(caller, place)

    assert heard.startswith(b"HTTP/1.1 503 ")
    (told,) = caplog.records
    assert "connections are turned away (Too many open files)" in told.message


async def test_an_address_that_this_machine_does_not_have_keeps_nobody_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`localhost` is ::1 as well in many containers that have no IPv6."""
    here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))
    elsewhere = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))
    found = [elsewhere, here]

    async def both(*_: object, **__: object) -> list[object]:
        return list(found)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both)
    (door,) = await listeners("localhost", 0, FULL)
    assert door.getsockname()[0] == "127.0.0.1"
    door.close()
    found.remove(here)
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        await listeners("localhost", 0, FULL)


async def test_what_is_written_in_two_parts_is_not_held_back_until_the_first_is_acknowledged() -> (
    None
):
    """Each answer after the first of a connection took forty milliseconds more."""
    at_once: list[int] = []

    async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        at_once.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    (door,) = await listeners("127.0.0.1", 0, FULL)
    server = await asyncio.start_server(meet, sock=door)
    async with server:
        reader, writer = await asyncio.open_connection(*door.getsockname()[:2])
        await reader.read()
        writer.close()

    assert [bool(each) for each in at_once] == [True]
