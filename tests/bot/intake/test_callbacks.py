"""Every end is called back, signed, until it has arrived."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from bot.chat.showing.undelivered import undelivered
from bot.intake.doors import served_doors
from lifecycle.callbacks import SURFACE
from lifecycle.ports import Transaction
from lifecycle.records import Message
from tests.bot.intake.conftest import TOKENS, Outside
from tests.bot.intake.receiver import SECRET, Receiver, much_waits
from tests.builders import PROD, REFUND, a_document
from tests.fakes.listening import accepting
from tests.world import World


@pytest.fixture
async def called(world: World, receiver: Receiver) -> AsyncIterator[Outside]:
    agents = dict(world.workflow.policy.agents)
    agents["leila"] = replace(
        agents["leila"], callback_url=receiver.url, callback_secret_env="C_LEILA"
    )
    await world.adopts(agents=agents)
    environment = TOKENS | {"C_LEILA": SECRET}
    async with served_doors(world.workflow, environment, "127.0.0.1", 0) as url:
        yield Outside(url, world)


async def test_an_end_is_called_back_signed(called: Outside, receiver: Receiver) -> None:
    await called.world.submits(PROD)
    await called.world.rejects("ben", "p1", "not today")
    told = await asyncio.wait_for(receiver.told(1), 20)
    assert told[0]["type"] == "proposal.ended"
    assert (told[0]["data"]["state"], told[0]["data"]["explanation"]) == ("rejected", "not today")
    headers, body = receiver.came[0]
    at = int(headers["webhook-timestamp"])
    assert at == called.world.clock.now_ms() // 1000
    expected = Webhook(SECRET).sign(
        headers["webhook-id"], datetime.fromtimestamp(at, UTC), body.decode()
    )
    assert headers["webhook-signature"] == expected


async def test_what_a_server_wants_remembered_is_told_to_none(
    called: Outside, receiver: Receiver
) -> None:
    receiver.cookie = "mine=" + "x" * 900
    for number in (1, 2):
        version = {"version": f"v{number}"}
        await called.world.submits(PROD, proposal_id=f"p{number}", parameters=version)
        await called.world.rejects("ben", f"p{number}", "not today")
        await asyncio.wait_for(receiver.told(number), 20)
    assert [headers.get("cookie") for headers, _ in receiver.came] == [None, None]


async def test_a_callback_that_failed_comes_again_with_the_same_id(
    called: Outside, receiver: Receiver
) -> None:
    receiver.statuses = [500, 302]
    await called.world.submits(PROD)
    await called.world.rejects("ben", "p1", "not today")
    await asyncio.wait_for(receiver.told(1), 20)
    for count in (2, 3):
        called.world.clock.advance(10)
        await asyncio.wait_for(receiver.told(count), 20)
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1

    called.world.clock.advance(3600)
    await called.world.submits(PROD, proposal_id="p2", parameters={"version": "v9"})
    await called.world.rejects("ben", "p2", "not today either")
    await asyncio.wait_for(receiver.told(4), 20)
    assert [json.loads(body)["data"]["proposal_id"] for _, body in receiver.came] == [
        *("p1", "p1", "p1", "p2")
    ]


async def test_a_permit_is_called_back_to_its_agent(called: Outside, receiver: Receiver) -> None:
    async with called.client() as leila:
        await leila.post("/v1/proposals", json=a_document(REFUND))
        await called.world.shows()
        await called.world.approves("ana", "p1")
        told = await asyncio.wait_for(receiver.told(1), 20)
        assert told[0]["type"] == "proposal.permit"
        assert told[0]["data"]["permit"] == (await leila.get("/v1/proposals/p1")).json()["permit"]


async def test_an_agent_is_called_back_with_its_whole_answer_where_its_card_cannot_be_shown(
    called: Outside, receiver: Receiver
) -> None:
    await called.world.submits(PROD)

    def unit(tx: Transaction) -> None:
        for card in tx.cards.of("p1"):
            tx.cards.put(replace(card, delivered=False, message_ids=()))
        undelivered(tx, called.world.workflow.world.moment(), "p1", "terminal", "no channel")

    await called.world.workflow.world.write(unit)

    (told,) = await asyncio.wait_for(receiver.told(1), 20)
    assert told["type"] == "proposal.attention"
    assert (told["data"]["proposal_id"], told["data"]["state"]) == ("p1", "sentinel_approved")


async def test_without_a_callback_nothing_is_kept_for_one(world: World) -> None:
    await world.submits(PROD)
    await world.rejects("ben", "p1")
    kept = await world.store.read(lambda tx: tx.outbox.waiting(SURFACE, 2**60, 9))
    assert list(kept) == []


async def both_ended(called: Outside, url: str) -> None:
    """Let a proposal of nour's, who is called back at `url`, end, and then one of leila's."""
    agents = dict(called.world.workflow.policy.agents)
    agents["nour"] = replace(agents["leila"], id="nour", accounts={}, callback_url=url)
    await called.world.adopts(agents=agents)
    for number, agent in enumerate(("nour", "leila")):
        await called.world.submits(PROD, by=agent, parameters={"version": f"v{number}"})
        await called.world.rejects("ben", f"p{number + 1}", "not today")


@pytest.mark.parametrize("url", ["http://xn--/x", "http://ex\u00e4mple\u2024com/x", "http://[::1"])
async def test_an_address_that_is_none_keeps_no_other_agent_waiting(
    called: Outside, receiver: Receiver, url: str
) -> None:
    await both_ended(called, url)

    told = await asyncio.wait_for(receiver.told(1), 20)

    assert told[0]["data"]["proposal_id"] == "p2"


async def test_an_answer_that_never_ends_keeps_no_callback_waiting(
    called: Outside, receiver: Receiver
) -> None:
    async def trickles(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        await writer.drain()

    async with accepting(trickles) as port:
        await both_ended(called, f"http://127.0.0.1:{port}/x")

        told = await asyncio.wait_for(receiver.told(1), 5)

    assert told[0]["data"]["proposal_id"] == "p2"


@pytest.mark.parametrize("status", [None, 503], ids=["nobody listens", "it answers 503"])
async def test_what_waits_for_a_server_that_is_down_for_long_is_touched_seldom(
    world: World, receiver: Receiver, status: int | None
) -> None:
    """All of it was written anew every ten seconds, for as long as the server was down."""
    url = receiver.url if status else "http://127.0.0.1:9/x"
    receiver.statuses = [status] * 10_000 if status else []
    callbacks = await much_waits(world, url, 400, world.clock.now_ms() - 60_000)
    for _ in range(60):
        await callbacks.drain()
        world.clock.advance(10)

    kept = await world.store.read(lambda tx: tx.outbox.waiting(SURFACE, 2**60, 1_000))
    assert len(kept) == 400
    assert max(message.attempts for message in kept) <= 8
    assert len(receiver.came) <= 200


async def test_a_server_that_is_back_is_told_all_that_waited(
    world: World, receiver: Receiver
) -> None:
    receiver.statuses = [503] * 60
    callbacks = await much_waits(world, receiver.url, 100, world.clock.now_ms())
    for _ in range(30):
        await callbacks.drain()
        world.clock.advance(10)

    assert len(receiver.came) == 60 + 100
    assert await world.store.read(lambda tx: tx.outbox.waiting(SURFACE, 2**60, 1_000)) == []


async def test_a_server_that_is_silent_keeps_no_callback_waiting_more_than_once(
    called: Outside, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.callbacks._TIMEOUT_S", 0.3)
    tried: list[asyncio.StreamWriter] = []

    async def is_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tried.append(writer)

    now_ms = called.world.clock.now_ms()

    def many(tx: Transaction) -> None:
        for number in range(100):
            body = {"text": "a word"}
            tx.outbox.add(Message(f"w{number}", SURFACE, "nour", "ended", body, now_ms))

    await called.world.store.write(many)
    async with accepting(is_silent) as port:
        await both_ended(called, f"http://127.0.0.1:{port}/x")

        async with asyncio.timeout(10):
            told = await receiver.told(1)
        assert len(tried) <= 20
    assert told[0]["data"]["proposal_id"] == "p2"
