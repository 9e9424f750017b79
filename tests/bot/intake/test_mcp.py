"""A real MCP client's session, over streamable HTTP and over standard input."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from bot.client import Signoff
from bot.intake.mcp import mcp_server
from tests.bot.intake.conftest import Outside
from tests.builders import MAIL, PROD, REFUND, a_document
from tests.stories.test_plans import HINTS, an_envelope

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
        for proposal_id in ("../tools", "p1/explain", "", "p" * 65, "p1\n"):
            failed, told = await called(client, "proposal", proposal_id=proposal_id)
            assert (failed, told["reason"]) == (True, "invalid_identifier")
        for tool in ("proposal", "wait"):
            failed, told = await called(client, tool, proposal_id="p1")
            assert (failed, told["reason"]) == (True, "unknown_proposal")
            assert told["explanation"] == "You have no proposal with this id."
        failed, told = await called(client, "approve", proposal_id="p1")
        assert (failed, told["reason"], told["retry"]) == (True, "unknown_tool", "after_change")


async def test_an_agent_waits_for_its_proposal_and_withdraws_it(outside: Outside) -> None:
    async with over_http(outside, "leila-token") as client:
        await called(client, "propose", document=a_document(PROD))
        failed, found = await called(client, "wait", proposal_id="p1", timeout_s=1)
        assert (failed, found["state"], found["permit"]) == (False, "sentinel_approved", None)
        _, gone = await called(client, "withdraw", proposal_id="p1")
        assert gone["state"] == "rejected"
        _, found = await called(client, "proposal", proposal_id="p1")
        assert found["reason"] == "withdrawn"


async def test_an_agent_that_asked_over_mcp_reads_the_reply_there(outside: Outside) -> None:
    plan = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
    async with over_http(outside, "leila-token") as client:
        envelope = an_envelope(outside.world, [], plan, intent="Which of the two orders?")
        _, asked = await called(client, "propose", document=envelope)
        asked_id = asked["result"]["question_id"]
        _, open_ = await called(client, "proposal", proposal_id=asked_id)
        waiting = asyncio.create_task(called(client, "wait", proposal_id=asked_id, timeout_s=20))
        await asyncio.sleep(0)
        await outside.world.workflow.answer_question(
            asked_id, outside.world.sender("ben"), "order 17"
        )
        failed, told = await waiting

    assert (open_["answer"], failed, told["answer"]) == (None, False, "order 17")
    async with over_http(outside, "nour-token") as client:
        failed, told = await called(client, "proposal", proposal_id=asked_id)
    assert (failed, told["reason"]) == (True, "unknown_proposal")


async def posted(client: httpx.AsyncClient, method: str, params: str = "{}") -> httpx.Response:
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}'
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    return await client.post("/mcp", content=body.encode(), headers=headers)


@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "initialize"])
async def test_who_has_no_token_learns_nothing_but_that(
    outside: Outside, token: str | None, method: str
) -> None:
    async with outside.client(token) as stranger:
        for answer in (await posted(stranger, method), await stranger.get("/mcp")):
            assert (answer.status_code, answer.json()["reason"]) == (401, "unknown_agent")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"


async def test_there_is_no_stream_of_news(outside: Outside) -> None:
    headers = {"accept": "text/event-stream", "last-event-id": "5"}
    async with outside.client() as client:
        for method in ("GET", "DELETE", "PUT"):
            answer = await client.request(method, "/mcp", headers=headers)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
            assert answer.headers["content-type"] == "application/problem+json"


async def test_a_source_proposes_nothing_over_mcp(outside: Outside) -> None:
    async with over_http(outside, "sensor-token") as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        failed, told = await called(client, "propose", document=a_document(PROD))
        assert (failed, told["reason"]) == (True, "unknown_agent")


async def test_a_body_has_the_limits_of_the_http_door(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.bodies._SLOWEST_S", 0.1)

    async def slowly() -> AsyncIterator[bytes]:
        yield b'{"jsonrpc"'
        await asyncio.sleep(0.5)

    async with outside.client() as client:
        answer = await client.post("/mcp", content=slowly())
        assert answer.status_code == 408
        answer = await client.post("/mcp", content=b'"' + b"x" * 1024 * 1024)
        assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")
        packed = {"content-encoding": "gzip"}
        assert (await client.post("/mcp", content=b"x", headers=packed)).status_code == 415


@pytest.mark.parametrize("bearer", ["", "Authorization: Bearer leila-token\r\n"])
async def test_whoever_hangs_up_over_a_body_is_worth_no_line_in_the_log(
    outside: Outside, caplog: pytest.LogCaptureFixture, bearer: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(outside.url.rpartition(":")[2]))
    head = f"POST /mcp HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: 100\r\n\r\n"
    writer.write(head.encode() + b'{"jsonrpc"')
    if not bearer:
        assert b" 401 " in await reader.readline()
    await asyncio.sleep(0.05)
    writer.close()
    async with outside.client() as client:
        assert (await client.get("/healthz")).status_code == 200
    assert [each for each in caplog.records if each.exc_info or each.levelname == "ERROR"] == []


@pytest.mark.parametrize("value", ["1e999", "NaN", "-Infinity"])
async def test_what_is_no_number_is_refused_as_such(outside: Outside, value: str) -> None:
    document = json.dumps(a_document(REFUND, parameters={"amount": "X"})).replace('"X"', value)
    async with outside.client() as client:
        params = f'{{"name": "propose", "arguments": {{"document": {document}}}}}'
        told = (await posted(client, "tools/call", params)).json()["result"]["structuredContent"]
    assert (told["reason"], told["retry"]) == ("non_finite_number", "after_change")


async def no_flaw(_context: object) -> None:
    """Judge that a message is well-formed."""


async def test_a_bot_that_is_not_there_is_an_error_of_the_way_and_no_code() -> None:
    server = mcp_server(lambda _context: Signoff("http://127.0.0.1:9", "x"), "0", no_flaw)
    async with Client(server) as client:
        with pytest.raises(MCPError, match="cannot be reached"):
            await client.call_tool("list_tools", {})


@pytest.mark.parametrize("heard", [False, True])
async def test_whoever_cannot_know_what_it_began_is_not_told_to_call_again(heard: bool) -> None:
    def answered(_request: httpx.Request) -> httpx.Response:
        if heard:  # somebody, but not the bot
            return httpx.Response(200, json={"detail": "please log in"})
        raise httpx.ReadTimeout("lost")

    way = httpx.MockTransport(answered)
    server = mcp_server(lambda _context: Signoff("http://x", "t", transport=way), "0", no_flaw)
    call = {"proposal_id": "p1", "permit": "x", "parameters": {}}
    async with Client(server) as client:
        with pytest.raises(MCPError, match="look what became of the proposal") as caught:
            await client.call_tool("redeem", call)
    assert "Call again later" not in str(caught.value)


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


async def test_what_was_asked_before_the_input_ended_is_answered(
    outside: Outside, root: Path
) -> None:
    """The SDK cancels it there: whoever proposed heard `Connection closed` and no state."""
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a pipe", "version": "1"},
    }
    proposed = {"name": "propose", "arguments": {"document": a_document(PROD)}}
    listed = {"name": "list_tools", "arguments": {}}
    calls = (("initialize", first), ("tools/call", proposed), ("tools/call", listed))
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls)
    ]
    asked.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "mcp", "--url", outside.url),
        env={**os.environ, "SIGNOFF_TOKEN": "leila-token"},
        cwd=root,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate("".join(f"{json.dumps(each)}\n" for each in asked).encode())

    told = {each["id"]: each for each in map(json.loads, out.splitlines())}
    assert process.returncode == 0
    assert sorted(told) == [0, 1, 2]
    assert told[1]["result"]["structuredContent"]["state"] == "sentinel_approved"
    assert (await outside.world.proposal("p1")).actor.id == "leila"
