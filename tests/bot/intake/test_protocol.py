"""Half a request, and an answer that nobody takes, hold nothing of the door for long."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket

import httpx
import pytest

from bot.intake.http.protocol import _GIVING_WAY, backlog, most_connections
from tests.bot.intake.conftest import Outside, submitted
from tests.builders import PROD
from tests.slack_stage.waiting import eventually


async def connected(outside: Outside) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(outside.url.rpartition(":")[2]))


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: "])
async def test_whoever_takes_too_long_over_a_head_is_hung_up_on(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    reader, writer = await connected(outside)
    writer.write(begun)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_the_second_head_of_a_connection_is_awaited_no_longer(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    reader, writer = await connected(outside)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.write(b"GET /healthz HTTP/1.1\r\nHo")
    await asyncio.wait_for(reader.read(), 5)
    writer.close()


async def test_whoever_waits_for_an_answer_may_wait(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    await outside.world.submits(proposal_id="p1")

    answer = await leila.get("/v1/proposals/p1?wait_s=1")

    assert answer.status_code == 200


WISH = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"


def idler(outside: Outside, wish: bytes) -> socket.socket:
    """Ask for something many times, with little room for answers, and read none."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect(("127.0.0.1", int(outside.url.rpartition(":")[2])))
    connection.setblocking(False)
    connection.send(wish)
    return connection


def connections() -> int:
    """Return how many connections the door holds."""
    return sum(len(state.connections) for state in _GIVING_WAY)


async def taken(connection: socket.socket, *, pause_s: float = 0) -> bytes:
    """Return what comes until the other side ends it."""
    loop, data = asyncio.get_running_loop(), b""
    async with asyncio.timeout(20):
        with connection, contextlib.suppress(ConnectionResetError):
            while chunk := await loop.sock_recv(connection, 65_536):
                data += chunk
                await asyncio.sleep(pause_s)
    return data


async def test_whoever_never_takes_its_answers_is_cut_off(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._UNREAD_S", 0.2)
    held = [idler(outside, WISH * 100) for _ in range(5)]
    await eventually(lambda: connections() == 5, "accepting")
    await eventually(lambda: connections() == 0, "cutting off")
    for each in held:
        assert (await taken(each)).count(b"HTTP/1.1 200") < 100


async def test_whoever_takes_its_answer_slowly_gets_it_whole(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._UNREAD_S", 0.4)
    last = WISH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert (await taken(idler(outside, WISH * 40 + last), pause_s=0.002)).count(b" 200 OK") == 41


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ", HEALTH])
async def test_where_there_are_too_many_the_oldest_that_asks_nothing_gives_way(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Strangers who opened connections and said nothing kept everybody out."""
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: 3)
    held = [await connected(outside) for _ in range(3)]
    for reader, asking in held:
        asking.write(begun)
        if begun == HEALTH:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")

    reader, writer = await connected(outside)
    writer.write(HEALTH)
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    writer.close()
    with contextlib.suppress(ConnectionResetError):
        await asyncio.wait_for(held[0][0].read(), 5)  # hung up on, and no younger one
    assert [each.at_eof() for each, _ in held] == [True, False, False]
    for _, asking in held:
        asking.close()


async def test_whoever_does_not_take_its_answers_gives_way_to_the_newest(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: 3)
    held = [idler(outside, WISH * 100) for _ in range(3)]
    hangs_up = {"connection": "close"}
    try:
        async with outside.client(None) as health:
            for _ in range(100):
                found = await health.get("/healthz", headers=hangs_up)
                if found.is_success:
                    break
                await asyncio.sleep(0.05)  # until what the kernel keeps for them is full
        assert found.is_success
    finally:
        for each in held:
            each.close()


async def test_the_newest_is_refused_where_all_others_are_at_work(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submitted(leila, PROD)
    await leila.aclose()
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: 8)
    wait = b"GET /v1/proposals/p1?wait=60 HTTP/1.1\r\nHost: x\r\n"
    wait += b"Authorization: Bearer leila-token\r\n"
    held = [await connected(outside) for _ in range(2)]
    for _, asking in held:
        asking.write(wait + b"\r\n")
    asked = [asyncio.create_task(older.readline()) for older, _ in held]
    await asyncio.wait(asked, timeout=0.3)
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: 2)

    reader, writer = await connected(outside)
    assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
    writer.close()
    await outside.world.rejects("ben", "p1")
    assert [(await each)[:13] for each in asked] == [b"HTTP/1.1 200 "] * 2
    for _, asking in held:
        asking.close()


@pytest.mark.parametrize(
    ("files", "most", "waiting"),
    [(64, 32, 8), (1024, 512, 128), (10**6, 4096, 128), (resource.RLIM_INFINITY, 4096, 128)],
)
def test_the_door_leaves_half_of_the_descriptors_to_the_bot(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int, waiting: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))

    assert (most_connections(), backlog()) == (most, waiting)
