"""When the bot ends, whoever is under way or held back hears so, and nobody asks in a loop."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from bot.intake.doors import served_doors
from bot.intake.http import serving
from bot.running import GRACE_S
from tests.bot.intake.conftest import PLAIN, TOKENS, submitted
from tests.builders import PROD, a_document
from tests.fakes.tools import waiting_for
from tests.world import World

MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
SHELF = {"resource_type": "library", "resource_id": "all", "domain": "x", "constraints": {}}
SEARCH = {
    "proposal_id": "s1",
    "tool": "search",
    "action_type": "read",
    "target": SHELF,
    "parameters": {"query": "refunds"},
}


@pytest.fixture
async def ending(world: World) -> AsyncIterator[tuple[httpx.AsyncClient, Callable[[], Any]]]:
    """A client, and what ends the doors."""
    async with AsyncExitStack() as doors:
        url = await doors.enter_async_context(
            served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0)
        )
        headers = {"authorization": "Bearer leila-token"}
        async with httpx.AsyncClient(
            base_url=url, headers=headers, timeout=20, verify=PLAIN
        ) as client:
            yield client, doors.aclose


def waits(timeout_s: int) -> bytes:
    params = {"name": "wait", "arguments": {"proposal_id": "p1", "timeout_s": timeout_s}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


async def test_what_is_held_back_is_told_that_the_bot_ends(ending, world, caplog) -> None:
    leila, end = ending
    await submitted(leila, PROD)
    call = {"tool": "issue-refund", "arguments": {"amount": "2.00", "currency": "USD"}}
    asked = await leila.post(
        "/aap/v1/requests", json=call | {"timeout": "10m"}, headers={"idempotency-key": "k"}
    )
    polls = (
        leila.get("/v1/proposals/p1?wait=30"),
        leila.get(f"/aap/v1/requests/{asked.json()['id']}?wait=30s"),
        leila.post("/mcp", content=waits(60), headers=MCP),
    )
    held = [asyncio.create_task(each) for each in polls]
    await asyncio.wait(held, timeout=0.5)
    assert not any(each.done() for each in held)

    async with asyncio.timeout(6):
        await end()

    http, aap, mcp = [await each for each in held]
    assert (http.status_code, http.json()["reason"], http.json()["retry"]) == (
        503,
        "audit_unavailable",
        "later",
    )
    assert (aap.status_code, aap.json()["error"]["code"]) == (503, "audit_unavailable")
    told = mcp.json()["result"]
    assert told["isError"] is True
    assert told["structuredContent"]["retry"] == "later"
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_a_call_that_is_cut_off_is_answered_that_it_may_still_end(
    ending, world, caplog, monkeypatch: pytest.MonkeyPatch
) -> None:
    leila, end = ending
    monkeypatch.setattr(serving, "LEAVE_S", 0.2, raising=False)
    gate = asyncio.Event()
    world.tool("search").on["execute"] = waiting_for(gate, {"ok": 1})
    # The doors were set up before: theirs is the usual patience, and here nobody waits for it.
    async with AsyncExitStack() as doors:
        url = await doors.enter_async_context(
            served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0)
        )
        call = asyncio.create_task(leila.post(f"{url}/v1/proposals", json=a_document(**SEARCH)))
        params = {"name": "propose", "arguments": {"document": a_document(**SEARCH)}}
        params["arguments"]["document"]["proposal_id"] = "s2"
        params["arguments"]["document"]["parameters"] = {"query": "returns"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        over_mcp = asyncio.create_task(leila.post(f"{url}/mcp", json=message, headers=MCP))
        await asyncio.wait([call, over_mcp], timeout=0.5)
        assert not call.done()
        assert not over_mcp.done()

        await doors.aclose()

    for answer in (await call, await over_mcp):
        assert (answer.status_code, answer.json()["reason"], answer.json()["retry"]) == (
            503,
            "audit_unavailable",
            "later",
        )
    tracebacks = [each for each in caplog.records if each.exc_info]
    assert tracebacks == []
    gate.set()
    await world.workflow.idle()
    assert (await world.proposal("s1")).reason == "tool_succeeded"
    await end()


def test_the_door_waits_for_calls_a_little_longer_than_the_bot_does() -> None:
    assert GRACE_S < serving.LEAVE_S < GRACE_S + 1


async def test_whoever_is_accepted_as_the_door_ends_is_hung_up_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was accepted and had no protocol yet: it hung until the process was gone."""
    callers: list[socket.socket] = []

    class CalledLate(serving._Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            callers.append(socket.create_connection(self.servers[0].sockets[0].getsockname()))
            for _ in range(2):
                await asyncio.sleep(0)
            await super().shutdown(sockets)

    monkeypatch.setattr(serving, "_Server", CalledLate)
    async with served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0):
        pass
    (caller,) = callers
    with caller:
        caller.setblocking(False)
        async with asyncio.timeout(10):
            assert await asyncio.get_running_loop().sock_recv(caller, 64) == b""
