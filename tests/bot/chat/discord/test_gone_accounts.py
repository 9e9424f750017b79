"""A ✅ that is gone from its card was taken back, also where its account is its giver's no more,
unless whoever has the account by now took it off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.bot.chat.discord.cards import read_again
from tests.bot.chat.discord.standing import approved_once, counting, taken_off_unheard
from tests.bot.chat.discord.test_accounts_moved import (
    anas_account_is_another_one,
    anas_account_is_bens,
    are_known_as,
)
from tests.fakes.discord_stage import ANA, TICK, DiscordStage


async def anas_account_is_nobodys(stage: DiscordStage) -> None:
    people = dict(stage.policy.people)
    others = {k: v for k, v in people["ana"].accounts.items() if k != "discord"}
    people["ana"] = replace(people["ana"], accounts=others)
    await are_known_as(stage, people)


any_move = pytest.mark.parametrize(
    "moves", [anas_account_is_another_one, anas_account_is_bens, anas_account_is_nobodys]
)
Moves = Callable[[DiscordStage], Awaitable[None]]


@any_move
async def test_one_that_is_gone_after_an_absence_was_taken_back(
    stage: DiscordStage, moves: Moves
) -> None:
    """Ana took it off while nobody heard, and a new config came with the restart."""
    proposal_id, card = await approved_once(stage)
    taken_off_unheard(card, ANA, TICK)
    await moves(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    taken_back = await stage.audit("approval_taken_back")
    assert [event["actor"]["id"] for event in taken_back] == ["ana"]


@any_move
async def test_one_that_was_refused_to_the_next_owner_of_its_account_is_theirs_to_take_off(
    stage: DiscordStage, moves: Moves
) -> None:
    proposal_id, card = await approved_once(stage)
    await moves(stage)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]


@any_move
async def test_one_that_the_next_owner_of_its_account_is_heard_to_take_off_takes_nothing_back(
    stage: DiscordStage, moves: Moves
) -> None:
    proposal_id, card = await approved_once(stage)
    await moves(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
