"""Posting cards: each once, in order, whatever Discord answers."""

from __future__ import annotations

import asyncio
import logging

import pytest

from lifecycle.ending import answer_of
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import ANA, CROSS, LEILA, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "retry_after": 0.05},
        {"status": 429, "retry_after": 0.05, "is_global": True},
        {"status": 502},
        {"acts": True},
        {"acts": False},
        {"status": 429, "via": False},
        {"status": 503, "times": 2},
    ],
    ids=["429", "429 global", "502", "answer lost", "cut before", "429 without via", "503 twice"],
)
async def test_a_post_that_fails_is_made_once(
    stage: DiscordStage, fault: dict[str, object]
) -> None:
    stage.server.fails("POST", "/channels/701/messages$", **{"says": "PROPOSAL", **fault})
    proposal_id = stage.sends(PROD)

    async def stands() -> bool:
        stage.clock.advance(1)
        stage.broadcast.nudge()
        found = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return found is not None and found.delivered

    await until(stands, "the card")
    (card,) = stage.server.cards()
    assert "refused the whole card" not in str(card.data), "a limit passes: no form is given up"


async def test_twenty_cards_come_in_order_although_every_third_post_is_refused(
    stage: DiscordStage,
) -> None:
    stage.server.fails(
        "POST", "/channels/701/messages$", status=429, retry_after=0.02, every=3, times=None
    )
    ids = [
        stage.sends(
            proposal_id=f"q{number:02d}",
            actor="leila",
            parameters={"to": "pat@partner.example", "subject": f"Invoice {number}", "body": "x"},
        )
        for number in range(10)
    ]
    for proposal_id in ids:
        await stage.card(proposal_id)
    shown = [
        message.data["embeds"][0]["footer"]["text"].split(" ")[0]
        for message in stage.server.cards()
    ]
    assert shown == ids


async def test_a_seed_that_fails_keeps_the_card_valid(stage: DiscordStage) -> None:
    stage.server.fails("PUT", "/reactions/❌", status=403, code=50013, times=None)
    proposal_id = await stage.proposes(PROD)
    await until(lambda: stage.surface.seeds.missing, "the seed is missed")
    assert any("seeds are missing" in line for line in stage.broadcast.health())
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")


async def test_seeds_that_lack_wait_once_however_often_their_card_is_read(
    stage: DiscordStage,
) -> None:
    """Each reading asked for them once more: days of it stood before the seeds of every new card
    once Discord took reactions again."""
    ids = [await stage.proposes(PROD), await stage.proposes()]
    cards = [await stage.card(each) for each in ids]
    await until(lambda: all("900" in each.who(CROSS) for each in cards), "seeds")
    again = asyncio.Event()
    stage.server.fails("PUT", "/reactions/", gate=again)
    for card in cards:
        card.reactions.clear()
    before = len(stage.server.called("PUT", "/reactions/"))

    listening = stage.surface.listening
    assert listening is not None
    rows = await stage.store.read(lambda tx: tx.cards.open_on("discord", 9))
    for _ in range(30):
        for row in rows:
            await listening.reactions.read(row)
    again.set()
    new = await stage.card(await stage.proposes(PROD, parameters={"version": "v43"}))
    await until(lambda: all("900" in each.who(CROSS) for each in (*cards, new)), "seeds")

    assert len(stage.server.called("PUT", "/reactions/")) - before <= 8


async def test_a_decision_that_comes_before_the_post_has_answered_counts(
    stage: DiscordStage,
) -> None:
    stage.server.messages.after_answer_s = 0.3

    def react(message: object) -> None:
        if message.data["embeds"] and "PROPOSAL" in str(message.data["embeds"][0].get("title")):  # type: ignore[attr-defined]
            stage.server.reacts(ANA, message, TICK)  # type: ignore[arg-type]

    stage.server.messages.before_answer = react
    proposal_id = stage.sends(PROD)
    await stage.reaches(proposal_id, "completed")


async def test_a_card_that_was_posted_before_a_crash_is_found_and_not_doubled(
    stage: DiscordStage,
) -> None:
    stage.server.fails("POST", "/channels/701/messages$", acts=True, says="PROPOSAL", times=3)
    proposal_id = stage.sends(PROD)
    await until(lambda: stage.server.cards(), "posted, its answer lost")
    await stage.ends()
    stage.server.faults.clear()
    stage.server.messages.nonces.clear()  # Discord forgets nonces after a few minutes
    stage.clock.advance(120)
    await stage.begins()
    await stage.card(proposal_id)
    assert len(stage.server.cards()) == 1


async def test_a_channel_that_is_gone_is_shown_and_nothing_executes(stage: DiscordStage) -> None:
    stage.server.fails("POST", "/channels/701/messages$", status=404, code=10003, times=None)
    proposal_id = stage.sends(PROD)

    async def undelivered() -> bool:
        found = await stage.store.read(lambda tx: tx.proposals.get(proposal_id))
        return found is not None and found.attention == "card_undelivered"

    await until(undelivered, "card_undelivered")
    await stage.workflow.approve(proposal_id, _person(stage, "ana"))
    await stage.workflow.idle()
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert stage.tool("production-deploy").verbs() == []
    told = await stage.store.read(lambda tx: tx.outbox.waiting("discord", 2**62, 100))
    notes = [m for m in told if m.recipient == "leila"]
    assert "cannot be shown on discord" in notes[0].body["text"]
    answer = answer_of(await stage.proposal(proposal_id))
    assert "It waits until people can see it. Its card cannot be shown" in answer.explanation


async def test_a_card_that_is_refused_as_too_long_is_posted_short_with_all_of_it_attached(
    stage: DiscordStage,
) -> None:
    stage.server.fails("POST", "/channels/701/messages$", status=400, code=50035, says="PROPOSAL")
    proposal_id = stage.sends(PROD)
    card = await stage.card(proposal_id)
    (attached,) = card.data["attachments"]
    assert "v42" in stage.server.state.files[attached["id"]].decode()


def _person(stage: DiscordStage, name: str) -> object:
    from bot.chat.hearing.senders import sender_of

    account = stage.policy.people[name].accounts["discord"]
    return sender_of(stage.policy, "discord", account)


async def test_ready_again_starts_nothing_twice(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    for _ in range(3):
        stage.surface.ready()
        stage.surface.connected()
    await stage.quiet()
    assert len(stage.server.cards()) == 1
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")
    assert stage.tool("production-deploy").verbs() == ["execute"]


async def test_no_event_is_lost_while_the_loop_is_busy(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    ids = [
        await stage.proposes(PROD, bot=LEILA, proposal_id=f"b{n}", parameters={"version": f"v{n}"})
        for n in range(2)
    ]
    cards = [await stage.card(each) for each in ids]
    for card in cards:
        stage.server.reacts(ANA, card, TICK)
    for each in ids:
        await stage.reaches(each, "completed")
    assert not [r for r in caplog.records if r.name.startswith("signoff")]
    assert CHANNEL == "701"
