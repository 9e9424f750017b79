"""Over MCP a message is read as strictly as at the HTTP door, whichever way it comes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import httpx
import pytest
from mcp import types

from bot.intake.mcp import over_stdio
from tests.bot.intake.conftest import Outside
from tests.builders import REFUND, a_document

MODERN = "2026-07-28"
META = {
    types.PROTOCOL_VERSION_META_KEY: MODERN,
    types.CLIENT_CAPABILITIES_META_KEY: {},
}
FLAWS = [
    ('"1.00", "amount": "9.00"', "duplicate_key"),
    ("NaN", "non_finite_number"),
    ("-Infinity", "non_finite_number"),
    ("1e999", "non_finite_number"),
    ("9007199254740993", "out_of_range"),
    ("0.10000000000000000001", "out_of_range"),
    ("[" * 40 + "]" * 40, "too_deep"),
    ('"\\ud800"', "invalid_unicode"),
]


def calling(tool: str, arguments: dict[str, Any], value: str, **params: Any) -> bytes:
    """Return the message of a call with `value` as it stands in the place of "X"."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    text = json.dumps(message | {"params": {"name": tool, "arguments": arguments} | params})
    return text.replace('"X"', value).encode()


def a_refund() -> dict[str, Any]:
    return {"document": a_document(REFUND, parameters={"amount": "X", "currency": "USD"})}


async def posted(client: httpx.AsyncClient, body: bytes, modern: bool) -> dict[str, Any]:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    if modern:
        headers |= {"mcp-protocol-version": MODERN, "mcp-method": "tools/call"}
        headers |= {"mcp-name": json.loads(body.decode())["params"]["name"]}
    answer = await client.post("/mcp", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    assert result["isError"] is True
    return result["structuredContent"]


@pytest.mark.parametrize("modern", [False, True])
async def test_nothing_is_repaired_on_the_way_to_the_door(
    outside: Outside, leila: httpx.AsyncClient, modern: bool
) -> None:
    meta = {"_meta": META} if modern else {}
    for value, code in FLAWS:
        told = await posted(leila, calling("propose", a_refund(), value, **meta), modern)

        assert (told["reason"], told["retry"]) == (code, "after_change")
        assert told["errors"][0]["code"] == code
    assert await outside.world.audit("submitted") == []
    rows = await outside.world.audit("refused")
    assert [(row["reason"], row["actor"]["id"]) for row in rows] == [
        (code, "leila") for _, code in FLAWS
    ]


async def test_no_call_is_made_that_was_read_in_two_ways(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    await outside.world.submits(REFUND, proposal_id="p1")
    for body in (
        calling("withdraw", {"proposal_id": "X"}, '"p2", "proposal_id": "p1"'),
        calling("withdraw", {"proposal_id": "p1"}, "", x=1).replace(b'"x": 1', b'"name": "wait"'),
        calling("withdraw", {"proposal_id": "p1"}, "").replace(b'"id": 7', b'"id": 7, "id": 8'),
    ):
        assert (await posted(leila, body, False))["reason"] == "duplicate_key"
    assert (await outside.world.proposal("p1")).state.value == "sentinel_approved"
    assert await outside.world.audit("refused") == []


async def test_what_is_no_call_is_an_error_of_the_message(leila: httpx.AsyncClient) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/list"}'
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    told = (await leila.post("/mcp", content=body, headers=headers)).json()
    assert told["error"]["code"] == types.PARSE_ERROR
    assert told["error"]["message"].startswith("duplicate_key: ")


async def test_what_is_no_object_is_an_error_without_an_inside(leila: httpx.AsyncClient) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    for body in (b"", b"{", b"null", b'[{"jsonrpc":"2.0"}]', b"\xff", b"[" * 3000 + b"]" * 3000):
        answer = await leila.post("/mcp", content=body, headers=headers)

        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, types.PARSE_ERROR)
        assert error["message"].partition(":")[0] in (
            "malformed_json",
            "invalid_unicode",
            "too_deep",
        )


@pytest.mark.parametrize("asked_id", ["null", "1.5", "true", "[]", "{}"])
async def test_what_nobody_could_answer_is_refused_and_not_let_fall(
    outside: Outside, leila: httpx.AsyncClient, asked_id: str
) -> None:
    body = calling("propose", {"document": a_document(REFUND)}, "")
    body = body.replace(b'"id": 7', f'"id": {asked_id}'.encode())
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = await leila.post("/mcp", content=body, headers=headers)

    told = answer.json()
    assert (answer.status_code, told["id"]) == (400, None)
    assert told["error"]["code"] == types.INVALID_REQUEST
    assert "string or a whole number" in told["error"]["message"]
    assert await outside.world.audit("submitted") == []


async def test_a_source_is_told_what_it_is_first(outside: Outside) -> None:
    async with outside.client("sensor-token") as sensor:
        told = await posted(sensor, calling("propose", a_refund(), '"1.00", "amount": "2"'), False)
    assert told["reason"] == "unknown_agent"


class Stdio:
    """A client of `over_stdio`: what is given, line by line, and what is answered."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        given, self._giving = os.pipe()
        answers, answering = os.pipe()
        self._answered = os.fdopen(answers)
        self._streams = os.fdopen(given), os.fdopen(answering, "w")
        for name, stream in zip(("stdin", "stdout"), self._streams, strict=True):
            monkeypatch.setattr(sys, name, stream)
        self.serving = asyncio.create_task(over_stdio(url, "leila-token", "0"))

    def give(self, *lines: bytes) -> None:
        os.write(self._giving, b"\n".join(lines) + b"\n")

    async def told(self) -> dict[str, Any]:
        line = await asyncio.wait_for(asyncio.to_thread(self._answered.readline), 20)
        return cast("dict[str, Any]", json.loads(line))

    def hang_up(self) -> None:
        """Read no more, but leave the input open."""
        self._answered.close()

    async def leave(self) -> None:
        """End the input, and wait until the server has ended, however it does."""
        os.close(self._giving)
        await asyncio.gather(self.serving, return_exceptions=True)
        self.hang_up()
        for stream in self._streams:
            with suppress(BrokenPipeError):  # what nobody read is still in it
                stream.close()


BEGIN = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "0"},
}
BEGUN = [
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": BEGIN}).encode(),
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
]


@pytest.fixture
async def stdio(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stdio]:
    """MCP over standard input, begun, served until the end of the test."""
    client = Stdio(outside.url, monkeypatch)
    client.give(*BEGUN)
    assert (await client.told())["id"] == 1
    yield client
    await client.leave()


async def test_standard_input_is_read_as_strictly(outside: Outside, stdio: Stdio) -> None:
    lines = []
    for place, (value, _) in enumerate(FLAWS):
        line = calling("propose", a_refund(), value)
        lines.append(line.replace(b'"id": 7', b'"id": "f%d"' % place))
    stdio.give(*lines)
    told = [await stdio.told() for _ in FLAWS]

    codes = {each["id"]: each["result"].get("structuredContent", {}).get("reason") for each in told}
    assert codes == {f"f{place}": code for place, (_, code) in enumerate(FLAWS)}
    assert await outside.world.audit("submitted") == []


async def test_a_message_with_the_id_of_another_takes_no_flaw_off_it(
    outside: Outside, stdio: Stdio
) -> None:
    await outside.world.submits(REFUND, proposal_id="p1")
    plain = calling("proposal", {"proposal_id": "p1"}, "")
    marked = calling("proposal", {"proposal_id": "p1"}, "", _meta={"signoff/flaw": "7"})
    flawed = calling("withdraw", {"proposal_id": "X"}, '"p2", "proposal_id": "p1"')

    stdio.give(plain, marked, flawed, plain)
    told = [(await stdio.told())["result"]["structuredContent"] for _ in range(4)]

    reasons = sorted(str(each.get("reason")) for each in told)
    assert reasons == ["None", "None", "None", "duplicate_key"]
    assert (await outside.world.proposal("p1")).state.value == "sentinel_approved"


PING = b'{"jsonrpc":"2.0","id":9,"method":"ping"}'
NO_MESSAGES = [
    (b"{", None, "malformed_json"),
    (b"[]", None, "malformed_json"),
    (b"\xff", None, "invalid_unicode"),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, "wrong_type"),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping","params":{"pin":"4711"}}', 5, "wrong_type"),
    (b'{"id":"a","method":"ping"}', "a", "wrong_type"),
    (b'{"jsonrpc":"2.0","id":5,"method":5}', 5, "wrong_type"),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', 5, "wrong_type"),
    (b'{"jsonrpc":"2.0","id":5}', 5, "wrong_type"),
    (b'{"jsonrpc":"2.0","id":true}', None, "wrong_type"),
    (b'{"jsonrpc":"2.0","id":false,"result":{}}', None, "wrong_type"),
    (b'{"jsonrpc":"2.0","id":100000000000000000000}', 10**20, "out_of_range"),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping","params":{"n":NaN}}', 5, "non_finite_number"),
]


async def test_who_sends_no_message_over_standard_input_does_not_wait_for_ever(
    stdio: Stdio,
) -> None:
    told = []
    for raw, _, _ in NO_MESSAGES:
        stdio.give(b"", raw)
        told.append(await stdio.told())
    stdio.give(PING)
    assert await stdio.told() == {"jsonrpc": "2.0", "id": 9, "result": {}}

    answers = [(each["id"], each["error"]["message"].partition(":")[0]) for each in told]
    assert answers == [(asked_id, code) for _, asked_id, code in NO_MESSAGES]


async def test_an_answer_that_nobody_asked_for_does_not_end_the_server(stdio: Stdio) -> None:
    """It ended with the flaw of one whose parameters are no object."""
    answer = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":%s,"result":{"a":1,"a":2}}'
    stdio.give(*(answer % params for params in (b"5", b"[1]", b'"x"', b"true", b"{}")), PING)

    told = [await stdio.told() for _ in range(2)]
    assert {each["id"]: "result" in each for each in told} == {5: False, 9: True}


@pytest.mark.parametrize(("raw", "asked_id", "code"), NO_MESSAGES)
async def test_what_is_no_message_is_refused_without_an_inside(
    leila: httpx.AsyncClient, raw: bytes, asked_id: object, code: str
) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = await leila.post("/mcp", content=raw, headers=headers)

    told = answer.json()
    assert (answer.status_code, told["id"]) == (400, asked_id)
    assert told["error"]["message"].startswith(f"{code}: ")
    assert not any(word in answer.text for word in ("pydantic", "validation", "4711"))


@pytest.mark.parametrize("why", ["Ctrl-C", "nobody reads"])
async def test_a_client_over_standard_input_ends_although_its_input_stays_open(
    stdio: Stdio, why: str
) -> None:
    if why == "Ctrl-C":
        stdio.serving.cancel()
    else:
        stdio.hang_up()
        stdio.give(PING)

    done, _ = await asyncio.wait({stdio.serving}, timeout=5)
    assert done == {stdio.serving}


async def test_what_agents_send_wrongly_does_not_fill_the_log(
    leila: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    flawed = calling("propose", a_refund(), '"1.00", "amount": "9.00"', _meta=META)
    await posted(leila, flawed, True)
    for name, value in (("host", "evil.example"), ("origin", "http://evil.example")):
        headers = {"accept": "application/json, text/event-stream", name: value}
        headers["content-type"] = "application/json"
        answer = await leila.post("/mcp", content=calling("propose", {}, ""), headers=headers)
        assert answer.status_code in (403, 421)

    assert [each for each in caplog.records if each.levelname in ("WARNING", "ERROR")] == []
