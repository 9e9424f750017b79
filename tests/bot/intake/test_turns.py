"""Nobody waits for a turn behind what costs nothing: a body that says nothing of its size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from bot.intake.http.protocol import most_connections
from tests.bot.intake.conftest import Outside, submitted
from tests.builders import MAIL, PROD, REFUND, a_document
from tests.fakes.tools import waiting_for

MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
SHELF = {"resource_type": "library", "resource_id": "all", "domain": "x", "constraints": {}}


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


def calling(tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


async def test_a_wait_over_mcp_holds_up_no_other_message_of_its_agent(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    await submitted(leila, PROD)
    waits = calling("wait", {"proposal_id": "p1", "timeout_s": 8})
    held = [
        asyncio.create_task(leila.post("/mcp", content=chunks(waits), headers=MCP))
        for _ in range(3)
    ]
    await asyncio.wait(held, timeout=0.3)

    async with asyncio.timeout(4):
        for body in (chunks(calling("list_tools", {})), calling("list_tools", {})):
            assert (await leila.post("/mcp", content=body, headers=MCP)).status_code == 200

    assert not any(each.done() for each in held)
    await outside.world.rejects("ben", "p1")
    assert [(await each).status_code for each in held] == [200] * 3


async def test_three_hundred_waits_over_mcp_leave_room_for_a_report(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    """Each counted for 4 KiB as long as it was held: 256 of them were the whole share."""
    await submitted(leila, PROD)
    waits = calling("wait", {"proposal_id": "p1", "timeout_s": 20})
    limits = httpx.Limits(max_connections=400)
    headers = {"authorization": "Bearer leila-token", **MCP}
    async with httpx.AsyncClient(
        base_url=outside.url, headers=headers, timeout=60, limits=limits
    ) as crowd:
        held = [
            asyncio.create_task(crowd.post("/mcp", content=waits))
            for _ in range(min(260, most_connections() // 3))  # what one agent may have waiting
        ]
        await asyncio.wait(held, timeout=2)
        async with asyncio.timeout(15):
            assert (await leila.post("/v1/proposals", json=a_document(REFUND))).status_code < 500
            answer = await leila.post("/mcp", content=calling("list_tools", {}), headers=MCP)
        assert answer.status_code == 200
        await outside.world.rejects("ben", "p1")
        assert {(await each).status_code for each in held} == {200}


async def test_a_slow_tool_holds_up_no_proposal_that_comes_in_chunks(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    gate = asyncio.Event()
    outside.world.tool("search").on["execute"] = waiting_for(gate, {"ok": 1})
    search = a_document(
        proposal_id="s1",
        tool="search",
        action_type="read",
        target=SHELF,
        parameters={"query": "refunds"},
    )
    slow = asyncio.create_task(
        leila.post("/v1/proposals", content=chunks(json.dumps(search).encode()))
    )
    await asyncio.wait([slow], timeout=0.3)
    assert not slow.done()

    async with asyncio.timeout(5):
        body = chunks(json.dumps(a_document(MAIL)).encode())
        assert (await leila.post("/v1/proposals:check", content=body)).status_code == 200

    gate.set()
    assert (await slow).status_code == 201
