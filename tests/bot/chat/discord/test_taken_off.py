"""A ✅ that was taken off while it still waited to be worked opens nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bot.chat.discord.taken_off import TakenOff
from lifecycle.ports import StoreUnavailable, Transaction
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    counting,
    state_of,
    taken_off_unheard,
    unheard,
)
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until


def test_a_removal_waits_behind_its_check_mark_from_the_moment_it_is_heard_if_it_is_stored() -> (
    None
):
    now_ms = 5
    off = TakenOff(lambda: now_ms)
    taken = {"kind": "reaction", "message": "1", "user": BEN, "variant": "normal"}
    taken |= {"signal": "APPROVE", "added": False}
    off.heard(taken)
    assert off.since("1", {BEN, ANA}, now_ms, "normal") == {BEN}
    assert not off.since("1", {BEN}, now_ms + 1, "normal")
    assert not off.since("1", {BEN}, now_ms, "burst")
    assert off.waits("1", BEN, now_ms, "normal")
    off.not_kept(taken)
    assert not off.waits("1", BEN, now_ms, "normal"), "nothing stored would take it back"
    off.heard(taken | {"added": True})
    assert not off.unkept("1", BEN, "normal"), "it was given again"


async def lane_stands(stage: DiscordStage) -> tuple[str, Message, asyncio.Event]:
    """Let ana's ✅ wait until the card can be read after a gap, and ben's behind it."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/messages/{card.id}$", gate=gate, times=None)
    stage.clock.advance(1)
    stage.surface.hearing.began()
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: held.seen, "read for ana's ✅")
    stage.server.reacts(BEN, card, TICK)
    return proposal_id, card, gate


async def test_an_approval_that_was_taken_off_before_its_turn_came_opens_nothing(
    stage: DiscordStage,
) -> None:
    proposal_id, card, gate = await lane_stands(stage)
    stage.clock.advance(1)
    stage.server.unreacts(BEN, card, TICK)
    stage.clock.advance(1)
    await until(stage._all_heard, "heard")
    gate.set()
    await until(lambda: stage.reviews(proposal_id), "ana's counts")
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert [row["actor"]["id"] for row in await stage.audit("approval_taken_back")] == ["ben"]
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []


async def test_an_approval_that_was_taken_off_on_a_line_that_died_unnoticed_opens_nothing(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pulse._ANSWERED_S", 0.05)
    proposal_id, card, gate = await lane_stands(stage)
    await until(stage._all_heard, "heard")
    stage.server.gateway.answers_heartbeats = False
    taken_off_unheard(card, BEN, TICK)
    stage.clock.advance(5)  # no sign of life for so long
    gate.set()
    await until(lambda: stage.reviews(proposal_id), "ana's counts")
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("other_line", [True, False])
async def test_an_approval_that_was_taken_off_while_nothing_could_be_stored_opens_nothing(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, other_line: bool
) -> None:
    proposal_id, card, gate = await lane_stands(stage)
    listening = stage.surface.listening
    assert listening is not None
    await until(stage._all_heard, "heard")
    await until(lambda: not listening._tasks, "stored")
    stage.clock.advance(1)
    if other_line:
        stage.surface.hearing.began()

    refused: list[object] = []

    async def locked(unit: object) -> object:
        refused.append(unit)
        raise StoreUnavailable("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(stage.store, "write", locked)
        stage.server.unreacts(BEN, card, TICK)
        await until(stage._all_heard, "heard")
        await until(lambda: len(refused) > 1, "worked in vain")
    stage.clock.advance(1)
    gate.set()
    await until(lambda: stage.reviews(proposal_id), "ana's counts")
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).verbs() == []


async def test_an_approval_that_was_taken_off_and_given_again_in_the_same_moment_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card, gate = await lane_stands(stage)
    stage.server.unreacts(BEN, card, TICK)
    stage.server.reacts(BEN, card, TICK)
    await until(stage._all_heard, "heard")
    gate.set()
    await stage.reaches(proposal_id, "completed")


async def test_an_approval_that_was_taken_off_before_the_bot_ended_opens_nothing(
    stage: DiscordStage,
) -> None:
    proposal_id, card, gate = await lane_stands(stage)
    stage.server.unreacts(BEN, card, TICK)
    await until(stage._all_heard, "heard")
    listening = stage.surface.listening
    assert listening is not None
    await until(lambda: not listening._tasks, "stored")
    await stage.ends()
    gate.set()
    await stage.begins()

    async def counts() -> bool:
        stage.clock.advance(1)
        return bool(await stage.reviews(proposal_id))

    await until(counts, "ana's counts")
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).verbs() == []


async def test_an_approval_that_was_kept_and_taken_off_while_the_bot_was_down_opens_nothing(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.workflow.world.ending = True
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.store.read(lambda tx: tx.flags.get("inbox:discord")), "kept")
    await stage.ends()
    taken_off_unheard(card, ANA, TICK)
    stage.clock.advance(5)
    await stage.begins()

    async def worked() -> bool:
        stage.clock.advance(1)
        return await stage.store.read(lambda tx: tx.flags.get("inbox:discord")) == {}

    await until(worked, "worked")
    await stage.passes(seconds=3)
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []


async def test_an_approval_that_was_kept_and_stands_counts_after_the_start(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.workflow.world.ending = True
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.store.read(lambda tx: tx.flags.get("inbox:discord")), "kept")
    await stage.ends()
    stage.clock.advance(5)
    await stage.begins()

    async def done() -> bool:
        stage.clock.advance(1)
        return await state_of(stage, proposal_id) == "completed"

    await until(done, "counted")
    assert stage.tool(DEPLOY).verbs() == ["execute"]


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_check_mark_that_is_found_gone_takes_back_although_that_cannot_be_written_at_once(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """It was noted as gone first, and what it stood beside was never withdrawn."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.says(ANA, f"!approve {proposal_id}")
    await until(lambda: stage.reviews(proposal_id), "counted")
    unheard(card, ANA, TICK)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    write, tried = stage.store.write, list[object]()

    async def fails_once(unit: Callable[[Transaction], object]) -> object:
        tried.append(unit)
        if len(tried) == nth:
            raise StoreUnavailable("database is locked")
        return await write(unit)

    stage.clock.advance(181)
    stage.surface.hearing.alive()
    with monkeypatch.context() as patch:
        patch.setattr(stage.store, "write", fails_once)
        await stage.broadcast.catch_up()
    await read_again(stage)
    await read_again(stage)
    assert len(tried) >= nth
    assert await counting(stage, proposal_id) == []
