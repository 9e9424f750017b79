"""Somebody points a proposal at another one's card: what people say of that counts for nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.storage import told_once
from bot.trail import verified_in
from lifecycle.answers import CardPlace
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_fixtures import discord_stage as discord_stage
from tests.fakes.discord_fixtures import discord_unstarted as discord_unstarted
from tests.fakes.discord_stage import ANA, TICK, DiscordStage
from tests.stories.forging import problems, refused
from tests.world import World

DEPLOY = "production-deploy"
NOT_ITS_OWN = "in which no card of it stood"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def both(world: World) -> tuple[str, str]:
    """Return the ids of two deployments that wait for people."""
    bad = (await world.submits(PROD)).proposal_id or ""
    good = await world.submits(PROD, target=dict(PROD["target"], resource_id="harmless"))
    return bad, good.proposal_id or ""


def pointed(bad: str, good: str) -> str:
    """Return the statement that lets one proposal stand on the card of another."""
    return f"UPDATE cards SET message_ids = '[\"m-{good}\"]' WHERE proposal_id = '{bad}'"


async def test_a_tick_on_the_card_of_another_proposal_opens_nothing(
    world: World, forged: Any
) -> None:
    bad, good = await both(world)
    forged(pointed(bad, good))

    await world.workflow.approve(bad, world.sender("ana"), card=CardPlace("terminal", f"m-{good}"))
    await world.workflow.idle()

    await refused(world, bad, DEPLOY)
    assert any(NOT_ITS_OWN in words for words in await problems(world))


async def test_nor_does_it_end_the_window_of_another_before_its_time(
    world: World, forged: Any
) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    mail = (await world.submits(MAIL)).proposal_id or ""
    good = (await world.submits(PROD)).proposal_id or ""
    forged(pointed(mail, good))

    place = CardPlace("terminal", f"m-{good}")
    await world.workflow.approve(mail, world.sender("ana"), card=place)
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == ["execute"]
    assert (await world.proposal(mail)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_cross_on_the_card_of_another_proposal_is_named(world: World, forged: Any) -> None:
    bad, good = await both(world)
    forged(pointed(bad, good))

    await world.workflow.reject(bad, world.sender("ben"), card=CardPlace("terminal", f"m-{good}"))

    assert [NOT_ITS_OWN in words for words in await problems(world)] == [True]


@pytest.mark.parametrize("opened_by", ["the orchestrator", "a person"])
async def test_what_nobody_was_shown_does_not_begin_although_its_card_is_set_as_delivered(
    world: World, forged: Any, opened_by: str
) -> None:
    """No card, no window: nobody could have taken back what went out then."""
    if opened_by == "the orchestrator":
        await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    document = a_document(MAIL, ts_ms=world.clock.now_ms())
    raw = json.dumps(document).encode()
    answer = await world.workflow.submit(raw, world.sender("leila"))
    mail = answer.proposal_id or ""
    if opened_by == "a person":
        await world.workflow.approve(mail, world.sender("ana"))
    await world.workflow.open_ready()
    assert world.tool("send-email").verbs() == []

    columns = "delivered = 1, shown_version = wanted_version, message_ids = '[\"m1\"]'"
    forged(f"UPDATE cards SET {columns}")
    await world.workflow.open_ready()
    await world.workflow.idle()

    await refused(world, mail, "send-email")


async def test_what_began_and_was_shown_nowhere_is_named(world: World, forged: Any) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    forged("UPDATE audit SET kind = 'other' WHERE kind = 'card_posted'")

    said = [words for words in await problems(world) if "stood anywhere" in words]

    assert len(said) == 1


async def test_what_an_older_version_began_does_not_tell_where_its_cards_stand(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    forged("UPDATE audit SET details = json_remove(details, '$.known_by')")
    forged("UPDATE audit SET kind = 'other' WHERE kind = 'card_posted'")

    await world.reacts("ana", proposal_id, "✅")

    assert (await world.proposal(proposal_id)).state is State.COMPLETED
    # The links are broken by this; of the row nothing is said.
    assert all(words.startswith("entry ") for words in await problems(world))


@pytest.mark.parametrize("column", ["extra", "message_ids"])
@pytest.mark.parametrize("text", ["no JSON", "1", "[1]", "null"])
async def test_a_card_that_cannot_be_read_is_posted_again_and_holds_up_no_other(
    world: World, forged: Any, column: str, text: str
) -> None:
    bad, good = await both(world)
    columns = f"{column} = '{text}', shown_version = 0"
    forged(f"UPDATE cards SET {columns} WHERE proposal_id = '{bad}'")
    forged(f"UPDATE cards SET shown_version = 0 WHERE proposal_id = '{good}'")

    await world.shows()

    for proposal_id in (bad, good):
        await world.reacts("ana", proposal_id, "✅")
        assert (await world.proposal(proposal_id)).state is State.COMPLETED


@pytest.mark.parametrize("text", ["no JSON", "1", "[1]", "null"])
async def test_a_message_that_cannot_be_read_holds_up_no_other(
    world: World, forged: Any, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    told_once.TOLD.clear()  # it is told once a process
    for proposal_id in await both(world):
        await world.rejects("ben", proposal_id)
    forged(f"UPDATE outbox SET body = '{text}' WHERE number = 1")

    for _ in range(2):
        waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 9))
        assert [message.key for message in waiting] == ["end:p2"]

    assert [each.getMessage() for each in caplog.records] == [
        "The message end:p1 in the database cannot be read, and is not delivered"
    ]


async def test_on_discord_neither(discord_stage: DiscordStage) -> None:
    bad = await discord_stage.proposes(PROD, proposal_id="bad")
    harmless = dict(PROD["target"], resource_id="harmless")
    good = await discord_stage.proposes(PROD, proposal_id="good", target=harmless)
    await discord_stage.card(bad)
    shown = await discord_stage.card(good)
    await discord_stage.quiet()

    def swap(tx: Transaction) -> None:
        mine, theirs = (tx.cards.get(name, "discord") for name in ("bad", "good"))
        assert mine is not None
        assert theirs is not None
        tx.cards.put(replace(theirs, message_ids=()))
        tx.cards.put(replace(mine, message_ids=(*mine.message_ids, *theirs.message_ids)))

    await discord_stage.store.write(swap)
    discord_stage.server.reacts(ANA, shown, TICK)
    await discord_stage.reaches(bad, "rejected")

    assert (await discord_stage.proposal(bad)).reason == "digest_mismatch"
    said = (await verified_in(discord_stage.store, None, lambda _: None)).problems
    assert any(NOT_ITS_OWN in words for words in said)
