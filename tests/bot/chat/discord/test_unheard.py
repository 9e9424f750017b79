"""What stands on a Discord card is no new decision, and what nobody heard yet still counts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Sender
from lifecycle.door import announce
from lifecycle.ports import Call
from lifecycle.proposal import ActorKind
from lifecycle.review import Review
from lifecycle.sentinel_run import Sentinel
from lifecycle.tier import Tier
from sentinel_rules import load_rules
from tests.bot.chat.discord.cards import in_window, read_again, seeded
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.discord_server.state import CHANNEL, NORMAL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}
WINDOW_S = 900
LONGEST_MESSAGE = 2_000
DEPLOY, SEND = "production-deploy", "send-email"
NOUR_OPENS = a_policy(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))


async def approved_once(stage: DiscordStage, person: str = ANA) -> tuple[str, Message]:
    """Let one of two approve a deployment."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.reacts(person, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    return proposal_id, card


async def counting(stage: DiscordStage, proposal_id: str) -> list[str]:
    return [review.person for review in await stage.reviews(proposal_id) if review.counts]


async def newest(stage: DiscordStage, proposal_id: str) -> Review:
    return (await stage.reviews(proposal_id))[-1]


async def state_of(stage: DiscordStage, proposal_id: str) -> str:
    return (await stage.proposal(proposal_id)).state.value


def unheard(card: Message, person: str, emoji: str) -> None:
    """Put somebody's emoji there without a word to the bot, as on a line that is dead."""
    card.reactions.setdefault(emoji, ([], []))[NORMAL].append(person)


# -- what is void, or was taken back ----------------------------------------------------------


async def void_by_policy(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve, and a policy with other reviewers come before it could begin."""
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, "!freeze wait")
    await stage.quiet()
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    tools = dict(stage.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], reviewers="operators")
    policy = replace(stage.policy, tools=tools, digest="pol1_" + "1" * 64)
    await stage.workflow.adopt(policy, Sentinel(load_rules(policy.rules)))
    stage.server.says(ANA, "!thaw")
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    await stage.card(proposal_id)
    return proposal_id, card


async def test_an_approval_made_void_by_a_policy_does_not_come_back_with_its_standing_check_mark(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    await read_again(stage)
    await read_again(stage)
    assert ANA in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).calls == []


async def test_a_check_mark_put_back_after_a_policy_made_it_void_counts_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    await read_again(stage)
    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana"]
    assert not (await newest(stage, proposal_id)).found_late


async def test_an_approval_taken_back_on_another_surface_stays_so_while_its_check_mark_stands(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    ben = Sender("slack", ActorKind.PERSON, "ben", "T1/UBEN")
    assert (await stage.workflow.take_back(proposal_id, ben)).done
    await read_again(stage)
    assert BEN in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).calls == []


async def test_a_check_mark_seen_gone_from_its_card_and_found_there_after_an_absence_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    await stage.ends()
    stage.server.reacts(BEN, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"]
    assert (await newest(stage, proposal_id)).found_late


# -- a ❌ that nobody heard yet ---------------------------------------------------------------


def reacts(stage: DiscordStage, card: Message) -> None:
    stage.server.reacts(BEN, card, TICK)


def presses(stage: DiscordStage, card: Message) -> None:
    stage.server.clicks(BEN, card, "signoff:approve")


def types(stage: DiscordStage, _card: Message) -> None:
    stage.server.says(BEN, "!approve p1")


def runs(stage: DiscordStage, _card: Message) -> None:
    stage.server.runs(BEN, "approve", id="p1")


@pytest.mark.parametrize("approves", [reacts, presses, types, runs])
async def test_an_approval_waits_for_the_reading_after_a_start_and_a_cross_in_it_decides(
    stage: DiscordStage, approves: Callable[[DiscordStage, Message], None]
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await stage.ends()
    stage.server.reacts(ANA, card, CROSS)
    gate, readings = asyncio.Event(), f"/messages/{card.id}$"
    held = stage.server.fails("GET", "/reactions/", gate=gate, times=None)
    before = len(stage.server.called("GET", readings))
    await stage.begins(connected=False)
    await until(lambda: held.seen, "the reading after the start is held")
    approves(stage, card)

    def looked_at() -> bool:
        read = len(stage.server.called("GET", readings)) - before
        return read >= 2 or bool(stage.tool(DEPLOY).calls)

    await until(looked_at, "the card is read for the approval too")
    assert await stage.reviews(proposal_id) == []
    gate.set()
    await stage.hears()
    await stage.quiet()
    assert (await stage.reaches(proposal_id, "rejected")).reason == "rejected_by_person"
    assert [review.person for review in await stage.reviews(proposal_id)] == ["ana"]
    assert stage.tool(DEPLOY).calls == []


async def test_a_line_silent_for_ten_seconds_proves_nothing_and_the_card_is_read_at_the_end(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    stage.clock.advance(WINDOW_S - 30)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    await stage.quiet()
    unheard(card, BEN, CROSS)
    await stage.passes(seconds=31)
    ended = await stage.proposal(proposal_id)
    assert (ended.state.value, ended.reason) == ("rolled_back", "rolled_back_by_person")
    assert (await newest(stage, proposal_id)).found_late
    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


# -- a ✅ that was meant as approval ends no window --------------------------------------------


async def test_a_check_mark_on_a_card_that_still_waits_does_not_end_the_window(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    stage.policy = NOUR_OPENS
    await stage.begins()
    stage.server.fails("PATCH", "/messages/", status=429, retry_after=3600, via=False, times=None)
    proposal_id = stage.sends(MAIL)
    await stage.reaches(proposal_id, "executing")
    await stage.quiet()
    card = stage.server.cards()[-1]
    assert "roll back" not in str(card.data["embeds"][0]["fields"])  # it was never edited

    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "executing"
    assert [row["reason"] for row in await stage.audit("ignored")] == ["stale_card"]
    assert stage.tool(SEND).verbs() == ["execute"]


async def test_a_check_mark_refused_while_the_tool_runs_ends_no_window_later(
    unstarted: DiscordStage,
) -> None:
    stage, answering = unstarted, asyncio.Event()
    stage.policy = NOUR_OPENS
    await stage.begins()

    async def slow(_call: Call) -> dict[str, Any]:
        await answering.wait()
        return {}

    stage.tool(SEND).on["execute"] = slow
    proposal_id = stage.sends(MAIL)
    await stage.reaches(proposal_id, "executing")
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("still_running")
    answering.set()
    await stage.quiet()
    await read_again(stage)
    assert ANA in card.who(TICK)
    assert await state_of(stage, proposal_id) == "executing"
    assert [row["reason"] for row in await stage.audit("ignored")] == ["still_running"]
    assert stage.tool(SEND).verbs() == ["execute"]


# -- what cannot be read just now -------------------------------------------------------------


async def one_short(stage: DiscordStage) -> str:
    """Let two of two approve while it cannot be told whether the first is still a member."""
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.fails("GET", f"/members/{ANA}", status=403, times=1)
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana", "ben"]
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    return proposal_id


async def test_a_quorum_short_of_one_failed_question_is_counted_anew_at_the_next_reading(
    stage: DiscordStage,
) -> None:
    proposal_id = await one_short(stage)
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"
    assert await counting(stage, proposal_id) == ["ana", "ben"]


@pytest.mark.parametrize("again", [ANA, BEN])
async def test_a_quorum_short_of_one_failed_question_is_counted_anew_by_a_second_approval(
    stage: DiscordStage, again: str
) -> None:
    proposal_id = await one_short(stage)
    stage.server.says(again, f"!approve {proposal_id}")
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "completed"
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_a_reviewer_who_cannot_be_read_is_told_so_and_counts_when_read_later(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    assert "membership here cannot be read just now" in stage.server.said()[-1]
    assert ANA in card.who(TICK)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"
    assert (await newest(stage, proposal_id)).found_late


# -- what a moderator clears ------------------------------------------------------------------


async def opens_with_ben(stage: DiscordStage, proposal_id: str, card: Message) -> None:
    """Ana's approval counts as before: ben's is the second."""
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_a_clearing_takes_nothing_back_at_the_readings_after_it(stage: DiscordStage) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    for _ in range(2):
        await read_again(stage)
        assert await counting(stage, proposal_id) == ["ana"]
    assert await stage.audit("approval_taken_back") == []
    await opens_with_ben(stage, proposal_id, card)


async def test_a_clearing_while_the_bot_was_away_takes_nothing_back_then_nor_with_seeds_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    await stage.ends()
    stage.server.clears(card)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await read_again(stage)
    assert await stage.audit("approval_taken_back") == []
    await opens_with_ben(stage, proposal_id, card)


async def test_a_check_mark_given_after_a_clearing_and_taken_off_in_an_absence_is_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    stage.clock.advance(1)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


# -- what must not be lost or cut -------------------------------------------------------------


async def is_killed(stage: DiscordStage) -> None:
    """End the process as `kill -9` does, as far as that goes: nothing is let to end."""
    for task in list(stage.workflow.world.tasks):
        task.cancel()
    stage.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stage.serving


async def test_a_form_is_kept_before_it_is_acknowledged_and_outlives_the_process(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    gate = asyncio.Event()
    stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    form = stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong person")
    await until(lambda: form.acknowledged_after_s is not None, "acknowledged")
    await is_killed(stage)
    gate.set()
    await stage.begins()
    await stage.quiet()
    await stage.passes(seconds=WINDOW_S + 60)
    ended = await stage.proposal(proposal_id)
    assert (ended.state.value, ended.reason) == ("rolled_back", "rolled_back_by_person")
    assert (await newest(stage, proposal_id)).reason == "wrong person"
    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_a_long_question_shows_its_last_line_and_carries_the_whole_text(
    stage: DiscordStage,
) -> None:
    last = "Reply with: answer q-1234-leila <words>"
    words = f"QUESTION from agent leila: May I {'really ' * 400}?\n{last}"
    moment = stage.workflow.world.moment()
    await stage.store.write(lambda tx: announce(tx, moment, "question:q-1234-leila", words))
    stage.broadcast.nudge()
    said = await until(lambda: [s for s in stage.server.said() if "QUESTION" in s], "the question")
    message = list(stage.server.state.messages[CHANNEL].values())[-1]
    assert said[0].replace("\\", "").endswith(last)
    assert len(said[0]) <= LONGEST_MESSAGE
    (attached,) = message.data["attachments"]
    assert stage.server.state.files[attached["id"]].decode() == f"{words}\n"


async def test_a_long_answer_to_a_button_fits_a_message(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, f"!reject {proposal_id} " + "whyy" * 498)
    await stage.reaches(proposal_id, "rejected")
    await stage.quiet()
    press = stage.server.clicks(BEN, card, "signoff:approve")  # it was on its way
    await stage.quiet()
    assert "Already decided" in press.text
    assert press.text.replace("\n", "").count("whyy") >= 490
    assert all(len(each["content"]) <= LONGEST_MESSAGE for each in press.answers)


@pytest.mark.parametrize("readings", [1, 2])
async def test_a_reviewer_who_cannot_be_read_at_a_reading_either_counts_at_a_later_one(
    stage: DiscordStage, readings: int
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    for _ in range(readings):
        await read_again(stage)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"


async def test_a_quorum_short_at_a_reading_too_is_counted_anew_at_a_later_one(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    await read_again(stage)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"


async def test_a_check_mark_given_again_after_a_clearing_and_taken_off_in_an_absence_is_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    stage.clock.advance(1)
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


async def test_a_void_check_mark_seen_gone_and_found_again_after_an_absence_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    stage.policy = stage.workflow.policy
    await stage.ends()
    stage.server.reacts(ANA, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
