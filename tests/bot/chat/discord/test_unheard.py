"""What stands on a Discord card is no new decision, and what nobody heard yet still counts."""

from __future__ import annotations

import asyncio
import contextlib
import json
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
from tests.builders import MAIL, PROD, a_document, a_policy
from tests.fakes.discord_server.rest import thread_json
from tests.fakes.discord_server.state import CHANNEL, GUILD, NORMAL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, LEILA, TICK, DiscordStage, until

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


def told_void(stage: DiscordStage) -> list[str]:
    return [said for said in stage.server.said() if "does not count any more" in said]


async def test_whose_check_mark_stands_for_a_void_approval_is_told_so_once(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    for _ in range(3):
        await read_again(stage)
        await stage.workflow.idle()
    (words,) = told_void(stage)
    assert words.startswith("ana: Your ✅ stands here")
    assert "the policy changed" in words
    assert f"/{CHANNEL}/{card.id}" in words
    assert [row["actor"]["id"] for row in await stage.audit("ignored", "stale_card")] == ["ana"]
    stage.policy = stage.workflow.policy
    await stage.restarts()
    await read_again(stage)
    await stage.workflow.idle()
    assert len(told_void(stage)) == 1
    assert await state_of(stage, proposal_id) == "sentinel_approved"


async def test_whose_check_mark_is_found_on_the_card_posted_anew_is_told_that_it_does_not_count(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    stage.server.deletes(card)
    await until(lambda: stage.server.cards() and stage.server.cards()[-1].id != card.id, "anew")
    anew = await stage.card(proposal_id)
    await stage.quiet()
    unheard(anew, ANA, TICK)
    await read_again(stage)
    await until(lambda: told_void(stage), "told")
    assert await counting(stage, proposal_id) == []


async def test_an_approval_taken_back_on_another_surface_stays_so_while_its_check_mark_stands(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    ben = Sender("slack", ActorKind.PERSON, "ben", "T1/UBEN")
    assert (await stage.workflow.take_back(proposal_id, ben)).done
    await read_again(stage)
    assert BEN in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    assert told_void(stage) == [], "it was ben's own doing"
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
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pulse._ANSWERED_S", 0.05)
    proposal_id, card = await in_window(stage)
    stage.server.gateway.answers_heartbeats = False
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


def a_file(proposal_id: str) -> dict[str, bytes]:
    return {"mail.json": json.dumps(a_document(proposal_id=proposal_id, actor="ana")).encode()}


async def proposed(stage: DiscordStage, proposal_id: str) -> bool:
    stage.clock.advance(1)
    return await stage.store.read(lambda tx: tx.proposals.get(proposal_id)) is not None


async def test_a_proposal_in_a_file_is_kept_before_it_is_acknowledged_and_outlives_the_process(
    stage: DiscordStage,
) -> None:
    gate = asyncio.Event()
    stage.server.fails("GET", "/files/", gate=gate, times=None)
    asked = stage.server.runs(ANA, "propose", files=a_file("s1"))
    await until(lambda: asked.acknowledged_after_s is not None, "acknowledged")
    await is_killed(stage)
    gate.set()
    await stage.begins()
    await until(lambda: proposed(stage, "s1"), "proposed")
    await stage.card("s1")


@pytest.mark.parametrize("how", ["slash", "message"])
async def test_a_file_that_discord_does_not_give_out_any_more_is_refused_in_words(
    stage: DiscordStage, how: str
) -> None:
    stage.server.fails("GET", "/files/", status=404, times=None)
    if how == "slash":
        asked = stage.server.runs(ANA, "propose", files=a_file("s1"))
        await until(lambda: "Attach it again" in asked.text, "told")
    else:
        stage.server.says(ANA, "!propose", files=a_file("s1"))
        await until(lambda: any("Attach it again" in said for said in stage.server.said()), "told")
    await stage.quiet()  # and it does not come back


async def test_a_file_that_cannot_be_fetched_just_now_is_fetched_later(
    stage: DiscordStage,
) -> None:
    outage = stage.server.fails("GET", "/files/", status=503, times=1)
    stage.server.runs(ANA, "propose", files=a_file("s1"))
    await until(lambda: outage.times == 0, "refused")

    await until(lambda: proposed(stage, "s1"), "proposed")


async def test_a_stop_typed_in_a_thread_that_cannot_be_looked_at_just_now_is_heard(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    thread = card.id
    stage.server.state.add_channel(thread, GUILD, "why", **thread_json(thread, CHANNEL))
    outage = stage.server.fails("GET", f"/channels/{thread}$", status=503, times=1)
    stage.server.says(BEN, f"!reject {proposal_id} wrong version", channel=thread)
    await until(lambda: outage.times == 0, "looked at")

    async def stopped() -> bool:
        stage.clock.advance(1)
        return await state_of(stage, proposal_id) == "rejected"

    await until(stopped, "stopped")
    assert await stage.audit("ignored", "wrong_place") == []


async def test_an_end_is_told_in_the_channel_where_the_thread_it_belongs_to_is_gone(
    stage: DiscordStage,
) -> None:
    talk = stage.server.says(LEILA, "a thread of mine")
    thread = stage.server.opens_thread(talk)
    document = a_document(PROD, proposal_id="p1", ts_ms=stage.clock.now_ms())
    stage.server.says(LEILA, f"!propose {json.dumps(document)}", channel=thread)
    await stage.card("p1")
    await stage.quiet()
    gone = stage.server.state.channels.pop(thread)
    stage.server.gateway.dispatch("THREAD_DELETE", gone)
    stage.server.says(ANA, "!reject p1 no")
    ended = await until(lambda: [a for a in stage.answers() if a["state"] == "rejected"], "told")
    assert ended[0]["proposal_id"] == "p1"


async def test_an_answer_is_posted_in_the_channel_where_the_thread_that_asked_is_gone(
    stage: DiscordStage,
) -> None:
    _, card = await seeded(stage, PROD)
    thread = stage.server.opens_thread(card)
    stage.server.fails("POST", f"/channels/{thread}/messages$", status=404, code=10003, times=None)
    stage.server.says(ANA, "!nonsense", channel=thread)
    await until(lambda: any("is no command" in said for said in stage.server.said()), "answered")


async def test_a_check_mark_on_what_has_ended_does_not_wait_for_a_card_that_cannot_be_read(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, f"!reject {proposal_id} no")
    await stage.reaches(proposal_id, "rejected")
    await stage.quiet()
    stage.server.fails("GET", f"/messages/{card.id}$", status=403, times=None)
    stage.surface.hearing.gap = True
    stage.server.reacts(BEN, card, TICK)
    await stage.ignored("already_decided")
    await stage.quiet()


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
