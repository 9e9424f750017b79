"""An emoji that was refused is refused once, and heard where it is given again in an absence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.discord.cards import in_window, read_again, seeded
from tests.bot.chat.discord.standing import DUAL, SEND, WINDOW_S, counting, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.state import NORMAL, Message
from tests.fakes.discord_stage import CAL, CROSS, TICK, DiscordStage, until
from tests.roads import adopted

#: An account that no entry of the config names.
STRANGER = "999"


async def may_decide(stage: DiscordStage, *, now: bool, digit: str = "1") -> None:
    """Let a policy come under which cal is of the approvers, or is not."""
    people = dict(stage.policy.people)
    groups = frozenset({"approvers"}) if now else frozenset[str]()
    people["cal"] = replace(people["cal"], groups=groups)
    policy = replace(stage.policy, people=people, digest="pol1_" + digit * 64)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    stage.policy = policy
    await stage.quiet()


async def refused(stage: DiscordStage, card: Message, emoji: str) -> None:
    """Let cal give an emoji that is refused; the bot takes it off."""
    stage.server.reacts(CAL, card, emoji)
    await stage.ignored("not_a_reviewer")
    await until(lambda: CAL not in card.who(emoji), "taken off")
    await stage.quiet()


async def given_while_away(stage: DiscordStage, card: Message, emoji: str) -> None:
    await stage.ends()
    unheard(card, CAL, emoji)
    stage.clock.advance(1)
    await stage.begins()
    await stage.quiet()


async def test_a_stop_refused_once_is_heard_when_it_is_given_again_by_who_may_stop_now(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    await refused(stage, card, CROSS)
    await may_decide(stage, now=True)
    await given_while_away(stage, card, CROSS)
    await stage.reaches(proposal_id, "rolled_back")
    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


@pytest.mark.parametrize("by", ["a reading", "an event"])
async def test_a_stop_found_and_refused_is_heard_under_a_policy_by_which_its_sender_may_stop(
    stage: DiscordStage, by: str
) -> None:
    proposal_id, card = await in_window(stage)
    if by == "an event":
        stage.server.fails("DELETE", "/reactions/", status=403, code=50013, times=None)
        stage.server.reacts(CAL, card, CROSS)
    else:
        unheard(card, CAL, CROSS)
        await read_again(stage)
    await stage.ignored("not_a_reviewer")
    await read_again(stage)
    await read_again(stage)
    assert len(await stage.audit("ignored")) == 1, "once under one policy"
    await may_decide(stage, now=True)
    await read_again(stage)
    await stage.reaches(proposal_id, "rolled_back")


@pytest.mark.parametrize("by", ["a reading", "an event"])
async def test_a_stop_of_an_account_that_nobody_had_is_heard_once_it_is_somebodys(
    stage: DiscordStage, by: str
) -> None:
    """Accounts are no part of the policy's digest, by which it was taken for the same act."""
    proposal_id, card = await in_window(stage)
    if by == "an event":
        stage.server.fails("DELETE", "/reactions/", status=403, code=50013, times=None)
        stage.server.reacts(STRANGER, card, CROSS)
    else:
        unheard(card, STRANGER, CROSS)
        await read_again(stage)
    await stage.ignored("not_a_reviewer")
    people = dict(stage.policy.people)
    people["ben"] = replace(people["ben"], accounts={"discord": STRANGER})
    policy = replace(stage.policy, people=people)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    await read_again(stage)
    await stage.reaches(proposal_id, "rolled_back")


async def test_a_check_mark_that_was_refused_and_merely_stands_says_nothing_new_days_later(
    stage: DiscordStage,
) -> None:
    """It was forgotten after a day that it had been refused, and it counted for what it had not."""
    limits = replace(stage.policy.limits, proposal_ttl_s=3 * 86_400)
    people = dict(stage.policy.people)
    people["ben"] = replace(people["ben"], accounts={})
    policy = replace(stage.policy, limits=limits, people=people, digest="pol1_" + "1" * 64)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    unheard(card, STRANGER, TICK)
    await read_again(stage)
    await stage.ignored("not_a_reviewer")
    people["ben"] = replace(people["ben"], accounts={"discord": STRANGER})
    policy = replace(policy, people=people)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    for _ in range(25):
        stage.clock.advance(3600)
        await read_again(stage)
    assert await counting(stage, proposal_id) == []

    card.reactions[TICK][NORMAL].remove(STRANGER)
    await read_again(stage)
    unheard(card, STRANGER, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_check_mark_refused_once_and_given_again_in_an_absence_is_answered(
    stage: DiscordStage,
) -> None:
    """Nobody knows which policy its card spoke of then: it counts once it is given anew."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await refused(stage, card, TICK)
    await may_decide(stage, now=True)
    await given_while_away(stage, card, TICK)
    reasons = [row["reason"] for row in await stage.audit("ignored")]
    assert reasons == ["not_a_reviewer", "stale_card"]
    await until(lambda: any(said.startswith("cal: ") for said in stage.server.said()), "told")
    stage.server.unreacts(CAL, card, TICK)
    stage.server.reacts(CAL, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["cal"]


async def test_a_check_mark_found_and_refused_counts_once_it_was_seen_gone_and_given_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    unheard(card, CAL, TICK)
    await read_again(stage)
    await stage.ignored("not_a_reviewer")
    await may_decide(stage, now=True)
    await read_again(stage)
    assert await counting(stage, proposal_id) == [], "what merely still stands says nothing new"
    card.reactions[TICK][NORMAL].remove(CAL)
    await read_again(stage)
    unheard(card, CAL, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["cal"]
    assert len(await stage.audit("ignored")) == 1


async def test_a_refused_check_mark_that_stands_is_noted_once_through_readings_and_a_restart(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.fails("DELETE", "/reactions/", status=403, code=50013, times=None)
    stage.server.reacts(CAL, card, TICK)
    await stage.ignored("not_a_reviewer")
    await read_again(stage)
    stage.clock.advance(WINDOW_S)
    await stage.restarts()
    await read_again(stage)
    assert len(await stage.audit("ignored")) == 1
    assert await state_of(stage, proposal_id) == "sentinel_approved"
