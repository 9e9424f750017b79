"""However much one agent has under way, others find a place, and so does what it has to do next."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from tests.bot.intake.conftest import PLAIN, Outside, submitted
from tests.builders import PROD, a_document

MOST = 24
MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
CALL = {
    "tool": "issue-refund",
    "arguments": {"amount": "2.00", "currency": "USD"},
    "timeout": "10m",
}


@pytest.fixture(autouse=True)
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: MOST)
    # With a shorter queue the kernel lets some of them knock again, a second later.
    monkeypatch.setattr("bot.intake.http.serving.backlog", lambda: 2 * MOST)


def calling(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


class Many:
    """Messages that an agent has under way at once, each over a connection of its own."""

    def __init__(self, outside: Outside, token: str) -> None:
        self._outside, self._token = outside, token
        self._clients = AsyncExitStack()
        self._asked: set[asyncio.Task[httpx.Response]] = set()

    async def __aenter__(self) -> Many:
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._asked:
            each.cancel()
        await asyncio.gather(*self._asked, return_exceptions=True)
        await self._clients.aclose()

    @property
    def held(self) -> list[asyncio.Task[httpx.Response]]:
        return [each for each in self._asked if not each.done()]

    async def ask(
        self, count: int, method: str, path: str, *, answered: int, **sent: Any
    ) -> list[httpx.Response]:
        """Ask so many times at once; return what is answered, once it is as much as expected."""
        asked = []
        for _ in range(count):
            client = await self._clients.enter_async_context(
                httpx.AsyncClient(
                    base_url=self._outside.url,
                    headers={"authorization": f"Bearer {self._token}", "connection": "close"},
                    timeout=60,
                    verify=PLAIN,
                )
            )
            asked.append(asyncio.create_task(client.request(method, path, **sent)))
        self._asked |= set(asked)
        return [each.result() for each in await first(answered, asked)]


async def first(count: int, asked: list[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    """Return those that are done, once there are as many as expected."""
    async with asyncio.timeout(20):
        while len(done := [each for each in asked if each.done()]) < count:
            await asyncio.wait(set(asked) - set(done), return_when=asyncio.FIRST_COMPLETED)
    return done


def is_later(answer: httpx.Response) -> bool:
    """Say whether it is rate_limited, for now, in the words of its door."""
    told = answer.json()
    if "result" in told:  # a tool of MCP
        told = json.loads(told["result"]["content"][0]["text"])
        return (told["reason"], told["retry"], told["retry_after_s"]) == (
            "rate_limited",
            "later",
            5,
        )
    code = told.get("reason") or told["error"]["code"]
    return (answer.status_code, code, answer.headers["retry-after"]) == (429, "rate_limited", "5")


@pytest.fixture
async def waited(outside: Outside) -> dict[str, str]:
    """What one may wait for over each door."""
    async with outside.client() as leila:
        await submitted(leila, PROD)
        asked = await leila.post("/aap/v1/requests", json=CALL, headers={"idempotency-key": "k"})
    return {"http": "/v1/proposals/p1?wait=60", "aap": f"/aap/v1/requests/{asked.json()['id']}"}


async def others_are_heard(outside: Outside) -> None:
    """Health, another agent and its proposals, each over a connection of its own."""
    hangs_up = {"connection": "close"}
    async with outside.client("nour-token") as nour, outside.client(None) as health:
        assert (await health.get("/healthz", headers=hangs_up)).status_code == 200
        document = a_document(PROD, proposal_id="n1", actor="nour")
        answer = await nour.post("/v1/proposals", json=document, headers=hangs_up)
        assert answer.status_code < 429, answer.text


@pytest.mark.parametrize("door", ["http", "aap", "mcp"])
async def test_waits_of_one_agent_leave_places_to_others_and_to_itself(
    outside: Outside, waited: dict[str, str], door: str
) -> None:
    over = MOST - MOST // 3  # what comes while others still come is refused the earlier
    async with Many(outside, "leila-token") as leila:
        if door == "mcp":
            wait = calling("wait", {"proposal_id": "p1", "timeout_s": 60})
            refused = await leila.ask(MOST, "POST", "/mcp", answered=over, json=wait, headers=MCP)
        else:
            path = waited["http"] if door == "http" else f"{waited['aap']}?wait=60s"
            refused = await leila.ask(MOST, "GET", path, answered=over)

        assert all(map(is_later, refused))
        await others_are_heard(outside)
        (looked,) = await leila.ask(1, "GET", "/v1/proposals/p1", answered=1)
        assert looked.status_code == 200
        held = leila.held
        assert 0 < len(held) <= MOST // 3
        if door != "aap":
            await outside.world.rejects("ben", "p1")
            assert {(await each).status_code for each in held} == {200}


class Halves:
    """Messages whose bodies do not come, over connections of their own."""

    def __init__(self, outside: Outside, token: str) -> None:
        self._port, self._token = int(outside.url.rpartition(":")[2]), token
        self._writers: list[asyncio.StreamWriter] = []
        self._asked: list[asyncio.Task[bytes]] = []

    async def __aenter__(self) -> Halves:
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._writers:
            each.close()
        await asyncio.gather(*self._asked, return_exceptions=True)

    @property
    def held(self) -> int:
        return sum(not each.done() for each in self._asked)

    async def begin(
        self, count: int, path: str = "/v1/proposals", *headers: str, refused: int
    ) -> None:
        """Begin so many, and wait until as many as expected are refused."""
        size = () if "Content-Length: 200000" in headers else ("Transfer-Encoding: chunked",)
        head = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self._token}")
        begun = "\r\n".join((*head, *headers, *size, "", "1", "{", ""))
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._writers.append(writer)
            writer.write(begun.encode())
            self._asked.append(asyncio.create_task(reader.readline()))
        done = await first(refused, self._asked)
        assert {each.result()[:13] for each in done} == {b"HTTP/1.1 429 "}


@pytest.mark.parametrize(
    "sent",
    [
        ("/v1/proposals",),
        ("/v1/proposals", "Content-Length: 200000"),
        ("/mcp", "Content-Type: application/json", "Content-Length: 200000"),
        ("/aap/v1/requests", "Idempotency-Key: k"),
    ],
)
async def test_bodies_that_do_not_come_leave_half_of_the_places(
    outside: Outside, sent: tuple[str, ...]
) -> None:
    async with Halves(outside, "leila-token") as leila:
        await leila.begin(MOST, *sent, refused=MOST // 2)

        await others_are_heard(outside)
        assert leila.held == MOST // 2


async def refused_at_the_start(outside: Outside, token: str) -> str:
    """Start `signoff mcp` under a token; return what it says as it ends at once."""
    command = (sys.executable, "-m", "bot", "mcp", "--url", outside.url)
    known = {**os.environ, "SIGNOFF_TOKEN": token}
    mcp = await asyncio.create_subprocess_exec(*command, env=known, stdin=DEVNULL, stderr=PIPE)
    _, told = await asyncio.wait_for(mcp.communicate(), 20)
    assert mcp.returncode == 1
    return told.decode()


async def test_an_agent_with_too_much_under_way_is_not_told_that_its_token_is_unknown(
    outside: Outside,
) -> None:
    async with Halves(outside, "leila-token") as leila:
        await leila.begin(MOST, refused=MOST // 2)
        told = await refused_at_the_start(outside, "leila-token")

    words = f"The bot at {outside.url} refuses: rate_limited: You have too many messages under way"
    assert told.startswith(words)


async def test_an_agent_whose_token_is_unknown_is_told_so(outside: Outside) -> None:
    told = await refused_at_the_start(outside, "another-token")
    assert told.startswith(f"The bot at {outside.url} does not know this SIGNOFF_TOKEN.")


async def test_the_second_of_two_that_take_all_they_can_gets_as_many_as_are_left(
    outside: Outside,
) -> None:
    async with Halves(outside, "leila-token") as leila, Halves(outside, "nour-token") as nour:
        await leila.begin(MOST, refused=MOST // 2)
        await nour.begin(MOST, refused=MOST - MOST // 4)

        async with outside.client(None) as health:
            assert (await health.get("/healthz")).status_code == 200
        assert (leila.held, nour.held) == (MOST // 2, MOST // 4)


async def test_strangers_who_ask_for_the_numbers_leave_half_of_the_places(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first numbers after a start are read from the whole trail, and need no token."""
    store, read = outside.world.workflow.world.store, asyncio.Event()
    at_once = store.read

    async def in_a_while(view: Any) -> Any:
        await read.wait()
        return await at_once(view)

    async with Many(outside, "nobody") as strangers:
        monkeypatch.setattr(store, "read", in_a_while)
        refused = await strangers.ask(MOST, "GET", "/metrics", answered=MOST // 2)
        monkeypatch.setattr(store, "read", at_once)

        assert all(map(is_later, refused))
        await others_are_heard(outside)
        held = strangers.held
        assert len(held) == MOST // 2
        read.set()
        assert {(await each).status_code for each in held} == {200}


async def test_a_place_is_free_again_once_its_client_has_left(
    outside: Outside, waited: dict[str, str]
) -> None:
    async with Many(outside, "leila-token") as leila:
        await leila.ask(MOST, "GET", waited["http"], answered=MOST - MOST // 3)
    await others_are_heard(outside)
    async with Many(outside, "leila-token") as leila:
        await leila.ask(MOST // 4, "GET", waited["http"], answered=0)
        await others_are_heard(outside)
        assert len(leila.held) == MOST // 4
