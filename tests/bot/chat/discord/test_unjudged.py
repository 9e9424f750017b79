"""A ✅ that was heard and could not be judged waits on its card: it is of whoever had its account
when it was heard, and of nobody who has it once it can be judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.chat.hearing.unjudged import note_unjudged
from bot.chat.surface import SurfaceFailed
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Card
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    counting,
    taken_off_unheard,
    unheard,
)
from tests.bot.chat.discord.test_account_when_heard import held_back, waiting
from tests.bot.chat.discord.test_accounts_moved import anas_account_is_bens
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until


async def heard_and_not_judged(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana give her ✅ while nobody says whether she is a member."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    outage.times = 0
    assert await stage.reviews(proposal_id) == []
    return proposal_id, card


async def test_it_counts_for_whoever_had_the_account_then(stage: DiscordStage) -> None:
    proposal_id, _ = await heard_and_not_judged(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]


async def counts_for_nobody_until_given_anew(
    stage: DiscordStage, proposal_id: str, card: Message, *, heard: bool
) -> None:
    await anas_account_is_bens(stage)
    await read_again(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    assert (await stage.audit("ignored"))[-1]["reason"] == "stale_card"
    await until(lambda: any(said.startswith("ben: ") for said in stage.server.said()), "told")

    if heard:
        stage.server.unreacts(ANA, card, TICK)
        stage.server.reacts(ANA, card, TICK)
    else:
        taken_off_unheard(card, ANA, TICK)
        await read_again(stage)
        unheard(card, ANA, TICK)
        await read_again(stage)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"]
    assert stage.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("heard", [True, False])
async def test_it_counts_for_nobody_who_has_the_account_once_it_can_be_judged(
    stage: DiscordStage, heard: bool
) -> None:
    """It was found on its card, and counted for ben, who had approved nothing."""
    proposal_id, card = await heard_and_not_judged(stage)
    await counts_for_nobody_until_given_anew(stage, proposal_id, card, heard=heard)


async def test_it_counts_for_nobody_else_although_it_was_only_found_while_it_could_not_be_judged(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    unheard(card, ANA, TICK)
    await read_again(stage)
    outage.times = 0
    await counts_for_nobody_until_given_anew(stage, proposal_id, card, heard=False)


async def test_one_that_is_taken_off_unheard_and_given_by_the_next_owner_counts_for_them(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await heard_and_not_judged(stage)
    taken_off_unheard(card, ANA, TICK)
    await anas_account_is_bens(stage)
    await read_again(stage)
    unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]


def full_disk(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let the store take nothing until the event is set."""
    write, freed = stage.store.write, asyncio.Event()

    async def written(unit: Callable[[Transaction], object]) -> object:
        if not freed.is_set():
            raise StoreUnavailable("the disk is full")
        return await write(unit)

    monkeypatch.setattr(stage.store, "write", written)
    return freed


async def test_one_that_the_store_could_not_take_counts_for_nobody_who_has_the_account_later(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was found as ben's once the disk was freed, which is when ana was to give it again."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    gate = await held_back(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    await waiting(stage, 1)
    freed = full_disk(stage, monkeypatch)
    gate.goes_on.set()
    await until(lambda: any("cannot be written" in said for said in stage.server.said()), "told")
    freed.set()
    stage.clock.advance(60)
    await stage.quiet()
    await anas_account_is_bens(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def the_row(stage: DiscordStage, proposal_id: str) -> Card:
    row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
    assert row is not None
    return row


async def reads_nothing_of(stage: DiscordStage, proposal_id: str) -> None:
    """Read its card: what stands there has to wait."""
    assert stage.surface.listening is not None
    row = await the_row(stage, proposal_id)
    with pytest.raises(SurfaceFailed):
        await stage.surface.listening.reactions.read(row)
    assert await counting(stage, proposal_id) == []


async def test_none_that_is_found_counts_before_it_is_written_whose_it_was_when_it_was_heard(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store could be written again, that waited for its turn, and ben's reading came first."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    freed = full_disk(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: any("cannot be written" in said for said in stage.server.said()), "told")
    freed.set()
    await anas_account_is_bens(stage)
    await reads_nothing_of(stage, proposal_id)

    stage.clock.advance(60)
    await stage.quiet()
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    assert (await stage.audit("ignored"))[-1]["reason"] == "stale_card"


async def test_it_is_written_down_from_the_beginning_that_it_is_owed_whose_it_was(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was slow to say that it would not take it, and ben's reading came before that."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    write, full, slow = stage.store.write, True, asyncio.Event()
    tried: list[object] = []

    async def written(unit: Callable[[Transaction], object]) -> object:
        noted = getattr(unit, "func", None) is note_unjudged
        tried.extend([unit] if noted else [])
        if noted and len(tried) > 1:
            await slow.wait()
        if full:
            raise StoreUnavailable("the disk is full")
        return await write(unit)

    monkeypatch.setattr(stage.store, "write", written)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: len(tried) > 1, "tried again")
    full, listening = False, stage.surface.listening
    await until(lambda: listening is not None and listening.inbox.quiet, "worked")
    await anas_account_is_bens(stage)
    await reads_nothing_of(stage, proposal_id)
    slow.set()
    await stage.quiet()
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


@pytest.mark.parametrize("judged", [True, False])
async def test_a_clock_that_is_set_back_makes_nobody_who_has_the_account_later_its_giver(
    stage: DiscordStage, judged: bool
) -> None:
    """What is noted of a card seemed to be older than its message."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stands = await the_row(stage, proposal_id)  # posted by a clock that was an hour ahead
    ahead = replace(stands, posted_at_ms=stage.clock.now_ms() + 3_600_000)
    await stage.store.write(lambda tx: tx.cards.put(ahead))
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    outage.times = 0
    if not judged:
        await anas_account_is_bens(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == (["ana"] if judged else [])
