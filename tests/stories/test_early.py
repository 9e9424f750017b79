"""A person's ✅ ends a window early only where its card said that it would."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.answers import CardPlace, Reply
from lifecycle.policy import Level, RuleSettings
from lifecycle.ports import ToolFailed, Transaction
from lifecycle.proposal import Attention
from lifecycle.records import Card
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.fakes.tools import Doing, answering, raising, waiting_for
from tests.world import World

SEND = "send-email"
PLACE = CardPlace("terminal", "m-p1")


async def opened_by_nour(world: World) -> None:
    """Let a mail be sent at once by auto-approval; its window is open, its card is current."""
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL)
    await world.keeps_house()
    assert world.tool(SEND).verbs() == ["execute"]


async def shows_the_version_before(world: World) -> None:
    """Let the card be as the platform has it while it refuses edits: one version behind."""

    def unit(tx: Transaction) -> None:
        card = tx.cards.get("p1", "terminal")
        assert card is not None
        tx.cards.put(replace(card, shown_version=card.wanted_version - 1))

    await world.store.write(unit)


async def approves(world: World, how: str) -> Reply:
    if how == "typed":
        return await world.approves("ana", "p1")
    return await world.reacts("ana", "p1", "✅")


async def still_open(world: World) -> None:
    assert (await world.proposal("p1")).state is State.EXECUTING
    assert world.tool(SEND).verbs() == ["execute"]
    assert await world.store.read(lambda tx: list(tx.reviews.of("p1"))) == []


@pytest.mark.parametrize("how", ["typed", "by emoji"])
async def test_an_approval_ends_the_window_that_its_card_shows(world: World, how: str) -> None:
    await opened_by_nour(world)
    assert (await approves(world, how)).done
    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.COMPLETED, "approved_early")
    assert str(ended.decided_by) == "person ana"
    [review] = await world.store.read(lambda tx: tx.reviews.of("p1"))
    assert review.person == "ana"


@pytest.mark.parametrize("how", ["typed", "by emoji"])
async def test_an_approval_ends_no_window_that_its_card_does_not_show_yet(
    world: World, how: str
) -> None:
    await opened_by_nour(world)
    await shows_the_version_before(world)

    reply = await approves(world, how)

    assert reply.code == "stale_card"
    assert not reply.passing
    await still_open(world)
    assert [row["reason"] for row in await world.audit("ignored")] == ["stale_card"]
    await world.shows()
    assert (await approves(world, how)).done
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_a_typed_approval_is_judged_by_the_card_of_the_surface_it_was_typed_on(
    world: World,
) -> None:
    await opened_by_nour(world)
    await shows_the_version_before(world)
    version = (await world.proposal("p1")).version
    current = Card("p1", "slack", version, version, ("s1",), delivered=True)
    await world.store.write(lambda tx: tx.cards.put(current))

    reply = await world.approves("ana", "p1")

    assert reply.code == "stale_card"
    await still_open(world)


async def test_an_approval_ends_nothing_while_the_tool_is_at_work(world: World) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.workflow.freeze("for a moment", world.sender("ana"))
    await world.submits(MAIL)
    await world.workflow.thaw(world.sender("ana"))
    await world.workflow.open_ready()
    assert (await world.proposal("p1")).state is State.EXECUTING

    reply = await world.workflow.approve("p1", world.sender("ana"))
    gate.set()
    await world.workflow.idle()

    assert reply.code == "still_running"
    await still_open(world)


async def test_an_approval_ends_the_window_also_where_there_is_no_card(world: World) -> None:
    await opened_by_nour(world)
    elsewhere = replace(world.sender("ana"), surface="slack")
    assert (await world.workflow.approve("p1", elsewhere)).done
    await world.workflow.idle()
    assert (await world.proposal("p1")).reason == "approved_early"


async def test_an_approval_found_late_ends_no_window(world: World) -> None:
    await opened_by_nour(world)

    reply = await world.workflow.approve("p1", world.sender("ana"), card=PLACE, found_late=True)
    await world.workflow.idle()

    assert reply.code == "already_decided"
    await still_open(world)


@pytest.mark.parametrize(
    ("done_then", "answers", "attention"),
    [
        ("approve", raising(ToolFailed("the server refused")), Attention.COMMIT_FAILED),
        ("approve", raising(RuntimeError()), Attention.OUTCOME_UNKNOWN),
        ("reject", answering({"still_stands": ["a part"]}), Attention.ROLLBACK_INCOMPLETE),
        ("reject", raising(RuntimeError()), Attention.OUTCOME_UNKNOWN),
    ],
)
async def test_nobody_is_told_to_wait_for_a_tool_that_has_answered(
    world: World, done_then: str, answers: Doing, attention: Attention
) -> None:
    await opened_by_nour(world)
    world.tool(SEND).on |= {"commit": answers, "roll_back": answers}
    await (world.approves if done_then == "approve" else world.rejects)("ana", "p1")
    before = await world.proposal("p1")
    assert before.attention is attention

    reply = await world.approves("ben", "p1")

    assert reply.code == "already_decided"
    assert "not answered yet" not in reply.words
    assert before.attention_why in reply.words
    assert await world.proposal("p1") == before


@pytest.mark.parametrize("how", ["typed", "by emoji"])
async def test_a_tick_that_can_end_nothing_early_is_asked_for_no_reason(
    world: World, how: str
) -> None:
    """Ben has opened it; a reason of ana's would change nothing either."""
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["invoice"]})
    await world.adopts(rules=rules)
    await world.submits(MAIL)
    await world.approves("ben", "p1", "Pat asked for this invoice")
    assert (await world.proposal("p1")).state is State.EXECUTING

    assert (await approves(world, how)).code == "already_decided"
