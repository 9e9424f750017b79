"""A real MCP client's session, over streamable HTTP and over standard input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.bot.intake.conftest import Outside
from tests.builders import MAIL, PROD, REFUND, a_document

TOOLS = ["list_tools", "propose", "proposal", "wait", "withdraw", "redeem", "report"]


@asynccontextmanager
async def over_http(outside: Outside, token: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(f"{outside.url}/mcp", http_client=http)) as client,
    ):
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> tuple[bool, dict[str, Any]]:
    result = await client.call_tool(tool, arguments)
    assert json.loads(result.content[0].text) == result.structured_content
    return bool(result.is_error), result.structured_content


async def test_an_agent_goes_the_whole_way_over_mcp(outside: Outside) -> None:
    async with over_http(outside, "leila-token") as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS
        failed, tools = await called(client, "list_tools")
        assert not failed
        assert tools["advisory"] is True
        _, answer = await called(client, "propose", document=a_document(REFUND))
        assert answer["state"] == "sentinel_approved"
        await outside.world.shows()
        await outside.world.approves("ana", "p1")
        _, found = await called(client, "wait", proposal_id="p1", timeout_s=5)
        given = {"permit": found["permit"], "parameters": REFUND["parameters"]}
        failed, begun = await called(client, "redeem", proposal_id="p1", **given)
        assert (failed, begun["state"]) == (False, "executing")
        receipt = {"refund": "r-1"}
        _, told = await called(client, "report", proposal_id="p1", outcome="done", receipt=receipt)
        assert told["state"] == "completed"
        failed, again = await called(client, "redeem", proposal_id="p1", **given)
        assert (failed, again["reason"]) == (True, "permit_already_consumed")
        assert "r-1" in json.dumps(again["result"])


async def test_an_error_says_what_an_agent_can_do(outside: Outside) -> None:
    async with over_http(outside, "leila-token") as client:
        failed, told = await called(client, "propose", document=a_document(MAIL, tool="send-mail"))
        assert (failed, told["reason"], told["retry"]) == (True, "unknown_tool", "after_change")
        assert "send-email" in told["errors"][0]["suggestion"]
        for arguments in ({}, {"document": 1}, {"document": {}, "approve": True}):
            failed, told = await called(client, "propose", **arguments)
            assert (failed, told["reason"]) == (True, "invalid_parameter")
        failed, told = await called(client, "proposal", proposal_id="../tools")
        assert (failed, told["reason"]) == (True, "404")
        failed, told = await called(client, "approve", proposal_id="p1")
        assert (failed, told["reason"]) == (True, "unknown_tool")


async def test_waiting_and_withdrawing(outside: Outside) -> None:
    async with over_http(outside, "leila-token") as client:
        await called(client, "propose", document=a_document(PROD))
        failed, told = await called(client, "wait", proposal_id="p1", timeout_s=1)
        assert (failed, told["reason"], told["retry"]) == (True, "still_waiting", "later")
        _, gone = await called(client, "withdraw", proposal_id="p1")
        assert gone["state"] == "rejected"
        _, found = await called(client, "proposal", proposal_id="p1")
        assert found["reason"] == "withdrawn"


@pytest.mark.parametrize("token", ["", "wrong", "sensor-token"])
async def test_who_has_no_agents_token_reads_the_list_of_tools_alone(
    outside: Outside, token: str
) -> None:
    async with over_http(outside, token) as client:
        assert len((await client.list_tools()).tools) == 7
        failed, told = await called(client, "propose", document=a_document(PROD))
        assert (failed, told["reason"]) == (True, "unknown_agent")


async def test_another_agent_sees_nothing_over_mcp(outside: Outside) -> None:
    async with over_http(outside, "leila-token") as leila, over_http(outside, "nour-token") as nour:
        await called(leila, "propose", document=a_document(PROD))
        failed, told = await called(nour, "proposal", proposal_id="p1")
        assert (failed, told["reason"]) == (True, "unknown_proposal")


async def test_a_page_of_another_site_cannot_speak_mcp(outside: Outside) -> None:
    async with outside.client() as client:
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            answer = await client.post(
                "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers
            )
            assert answer.status_code in (403, 421)


async def test_signoff_mcp_is_a_client_of_the_running_bot(outside: Outside, root: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", "mcp", "--url", outside.url],
        env={**os.environ, "SIGNOFF_TOKEN": "leila-token"},
        cwd=str(root),
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        _, answer = await called(client, "propose", document=a_document(PROD))
        assert answer["state"] == "sentinel_approved"
    assert (await outside.world.proposal("p1")).actor.id == "leila"
