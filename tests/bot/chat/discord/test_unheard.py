"""On a Discord card a ❌ that nobody heard yet decides, and no ✅ for approval ends a window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.ports import Call
from lifecycle.tier import Tier
from tests.bot.chat.discord.cards import in_window, read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    SEND,
    WINDOW_S,
    approved_once,
    counting,
    newest,
    state_of,
    taken_off_unheard,
    unheard,
)
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

NOUR_OPENS = a_policy(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))


# -- a ❌ that nobody heard yet ----------------------------------------------------------------


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


@pytest.mark.parametrize("approves", [reacts, presses, types, runs])
async def test_what_was_approved_by_a_check_mark_that_went_unheard_opens_nothing_with_another(
    stage: DiscordStage, approves: Callable[[DiscordStage, Message], None]
) -> None:
    """The card was read without ana's ✅, and her approval opened it with ben's all the same."""
    proposal_id, card = await approved_once(stage)
    taken_off_unheard(card, ANA, TICK)
    stage.clock.advance(1)
    stage.surface.hearing.began()
    approves(stage, card)
    await stage.quiet()
    await stage.passes(seconds=3)
    assert await counting(stage, proposal_id) == ["ben"]
    assert stage.tool(DEPLOY).verbs() == []


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


async def test_a_check_mark_on_what_has_ended_does_not_wait_for_a_card_that_cannot_be_read(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, f"!reject {proposal_id} no")
    await stage.reaches(proposal_id, "rejected")
    await stage.quiet()
    stage.server.fails("GET", f"/messages/{card.id}$", status=403, code=50001, times=None)
    stage.surface.hearing.gap = True
    stage.server.reacts(BEN, card, TICK)
    await stage.ignored("already_decided")
    await stage.quiet()


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


async def test_an_event_that_cannot_be_taken_has_the_cards_read_before_anything_is_final(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await in_window(stage)

    def fails(*_: Any) -> None:
        raise KeyError("a field that nobody expected")

    with monkeypatch.context() as broken:
        broken.setattr("bot.chat.discord.listening.reaction_payload", fails)
        stage.server.reacts(BEN, card, CROSS)
        await until(stage._all_heard, "heard, and not understood")
    stage.clock.advance(WINDOW_S + 1)
    stage.surface.hearing.alive()
    await stage.workflow.close_due()
    await stage.reaches(proposal_id, "rolled_back")
    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]
