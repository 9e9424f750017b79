"""Slack's door over HTTP: whoever cannot sign takes no room from others, and fills no log."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.builders import PROD
from tests.slack_stage import eventually, on_slack

_HEAD = b"POST /slack/events HTTP/1.1\r\nHost: x\r\n"
#: What strangers say before they fall silent: nothing, half a head, half a body.
_SILENCES = (b"", _HEAD, _HEAD + b"Content-Length: 9\r\n\r\n{")
_BROKEN = (
    (_HEAD + b"A b: c\r\n\r\n", b" 400 "),
    (b"\x16\x03\x01\x02\r\n\r\n", b" 400 "),
    (_HEAD + b"A: " + b"x" * 70_000 + b"\r\n\r\n", b" 400 "),
    (_HEAD + b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n", b" 400 "),
    (_HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", b" 401 "),
    (_HEAD + b"Content-Length: 9000000\r\n\r\n" + b"x" * 2_000_000, b" 413 "),
)
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def slack(unused_tcp_port: int) -> AsyncIterator[Any]:
    async with on_slack(port=unused_tcp_port) as stage:
        stage.over_http()
        yield stage


async def connected(slack: Any, sent: bytes = b"") -> Connection:
    http = slack.settings.entry.http
    reader, writer = await asyncio.open_connection(http.host, http.port)
    writer.write(sent)
    return reader, writer


class WaitedFor(asyncio.Event):
    """An event that says whether anybody waits for it."""

    begun = False

    async def wait(self) -> Any:
        self.begun = True
        return await super().wait()


async def hung_up(connection: Connection) -> bytes:
    """Return what was answered before the other side hung up."""
    answered = b""
    async with asyncio.timeout(5):
        try:
            while more := await connection[0].read(65_536):
                answered += more
        except ConnectionResetError:
            pass
    connection[1].close()
    return answered


async def test_whoever_signs_nothing_is_hung_up_on_soon(
    slack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.callers._UNSIGNED_S", 0.2)
    for sent in _SILENCES:
        assert await hung_up(await connected(slack, sent)) == b""


async def test_strangers_without_number_leave_room_for_slack(
    slack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.callers.most_callers", lambda: 3)
    monkeypatch.setattr("bot.chat.slack.callers._NEW_S", 0.0)
    card = await slack.proposes(PROD)
    strangers = [await connected(slack, sent) for sent in _SILENCES * 3]
    await slack.server.reacts("UANA", card.ts)
    await slack.stands("p1", "completed")
    for stranger in strangers[:-3]:
        assert await hung_up(stranger) == b""
    for _, writer in strangers[-3:]:
        writer.close()


def signed(slack: Any, number: int) -> bytes:
    """Return an event as Slack sends it: nothing comes of it."""
    event = {"type": "reaction_added", "user": "UANA", "reaction": "eyes", "item": {}}
    body = json.dumps({"type": "event_callback", "event_id": f"Ev{number}", "event": event})
    stamp = str(int(slack.wall_s()))
    head = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": slack.server.poster.sign(stamp, body),
        "Connection": "close",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"{_HEAD.decode()}{lines}\r\n{body}".encode()


async def test_of_many_events_that_come_while_the_loop_is_busy_none_is_hung_up_on_unread(
    slack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.callers.most_callers", lambda: 4)
    http = slack.settings.entry.http
    sockets = [socket.create_connection((http.host, http.port)) for _ in range(8)]
    for number, each in enumerate(sockets):
        each.sendall(signed(slack, number))

    connections = [await asyncio.open_connection(sock=each) for each in sockets]
    answers = [await hung_up(each) for each in connections]

    assert [each[:12] for each in answers] == [b"HTTP/1.1 200"] * len(sockets)


async def test_strangers_who_come_all_at_once_take_twice_the_room_at_most(
    slack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.callers.most_callers", lambda: 3)
    strangers = [await connected(slack) for _ in range(9)]

    for stranger in strangers[:3]:
        assert await hung_up(stranger) == b""
    for reader, writer in strangers[3:]:
        assert not reader.at_eof()
        writer.close()


async def test_an_event_that_is_worked_on_gives_way_to_nobody(
    slack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.callers.most_callers", lambda: 1)
    card = await slack.proposes(PROD)
    slack.store_waits()
    stored = slack.world.workflow.world.store.slow = WaitedFor()
    reacting = asyncio.create_task(slack.server.reacts("UANA", card.ts))
    await eventually(lambda: stored.begun, "the event")
    strangers = [await connected(slack) for _ in range(3)]
    for stranger in strangers[:2]:
        assert await hung_up(stranger) == b""
    strangers[-1][1].close()
    stored.set()
    assert (await reacting).status == 200
    await slack.stands("p1", "completed")


async def test_what_strangers_send_is_no_trouble_of_the_log(
    slack: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for sent, status in _BROKEN:
        reader, writer = await connected(slack, sent)
        async with asyncio.timeout(5):
            assert status in await reader.readline(), sent[:60]
        writer.close()
    assert [each for each in caplog.records if each.levelname not in ("DEBUG", "INFO")] == []


async def test_no_answer_names_the_library_or_its_version(slack: Any) -> None:
    sent = [wire.replace(b"Host: x", b"Host: x\r\nConnection: close") for wire, _ in _BROKEN[:5]]
    sent += [signed(slack, 1), b"GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]
    for wire in sent:
        answer = await hung_up(await connected(slack, wire))
        assert answer.startswith(b"HTTP/1."), wire[:60]
        assert b"aiohttp" not in answer, wire[:60]
        assert b"Python" not in answer, wire[:60]
