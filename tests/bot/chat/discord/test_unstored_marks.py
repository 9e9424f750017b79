"""A ✅ that could not be stored counts as any other: in its turn, and for what its card showed. One
that was taken off meanwhile counts no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    counts_alone,
    state_of,
    taken_off_unheard,
)
from tests.bot.chat.discord.test_old_renderings import goes_elsewhere
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until


class Locked:
    """A store that somebody else has: the first event waits in vain, those behind it until that
    one lets go."""

    def __init__(self, stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waits, self._free, self._takes = 0, asyncio.Event(), stage.store.write
        monkeypatch.setattr(stage.store, "write", self._write)

    async def _write(self, unit: Callable[[Any], Any]) -> Any:
        if getattr(unit, "__qualname__", "").startswith("Inbox._stored"):
            self.waits += 1
            first = self.waits == 1
            await self._free.wait()
            if first:
                raise StoreUnavailable("database is locked")
        return await self._takes(unit)

    def ends(self) -> None:
        self._free.set()


async def test_one_that_was_taken_off_before_it_could_be_worked_opens_nothing(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was worked beside what took it off, which found nothing to take back yet; it counted."""
    proposal_id, card = await seeded(stage, PROD)
    locked = Locked(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: locked.waits == 1, "given")
    stage.clock.advance(1)
    stage.server.unreacts(ANA, card, TICK)
    await until(lambda: locked.waits == 2, "taken off")
    stage.clock.advance(1)
    locked.ends()
    await stage.quiet()
    await stage.passes(seconds=3)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []


async def test_one_that_stands_counts(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal_id, card = await seeded(stage, PROD)
    locked = Locked(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: locked.waits == 1, "given")
    locked.ends()
    await stage.reaches(proposal_id, "completed")


async def test_one_that_waits_behind_another_counts_for_nothing_that_its_card_shows_since(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/messages/{card.id}$", gate=gate, times=None)
    stage.clock.advance(1)
    stage.surface.hearing.began()
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: held.seen, "read for ana's ✅")
    locked = Locked(stage, monkeypatch)
    stage.server.reacts(BEN, card, TICK)
    await until(lambda: locked.waits == 1, "given")
    locked.ends()
    await until(stage._all_heard, "heard")
    await goes_elsewhere(stage)
    await stage.card(proposal_id)
    gate.set()
    await stage.quiet()
    told = [row["actor"]["id"] for row in await stage.audit("ignored", "stale_card")]
    assert sorted(told) == ["ana", "ben"]
    assert await counting(stage, proposal_id) == []


@pytest.mark.parametrize("kept", [True, False])
async def test_one_that_was_taken_off_while_nothing_could_be_written_counts_for_nobody_else(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """With ben's it opened a deployment for which two must stand; `kept`: its event was stored."""
    proposal_id, card = await approved_once(stage)
    takes, refused = stage.store.write, list[object]()

    async def locked(unit: Callable[[Any], Any]) -> Any:
        if kept and getattr(unit, "__qualname__", "").startswith("Inbox._stored"):
            return await takes(unit)
        refused.append(unit)
        raise StoreUnavailable("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(stage.store, "write", locked)
        stage.server.unreacts(ANA, card, TICK)
        await until(lambda: len(refused) > (0 if kept else 1), "worked in vain")
    stage.server.reacts(BEN, card, TICK)
    await counts_alone(stage, proposal_id, "ben")
    assert await state_of(stage, proposal_id) == "sentinel_approved"


async def test_one_that_is_found_gone_while_that_cannot_be_written_is_found_again(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await approved_once(stage)
    takes, refused = stage.store.write, list[object]()

    async def locked(unit: Callable[[Any], Any]) -> Any:
        if not isinstance(unit, partial):  # as acts are
            return await takes(unit)
        refused.append(unit)
        raise StoreUnavailable("database is locked")

    taken_off_unheard(card, ANA, TICK)
    with monkeypatch.context() as patch:
        patch.setattr(stage.store, "write", locked)
        stage.clock.advance(1)
        stage.surface.hearing.began()
        with suppress(StoreUnavailable):
            await stage.broadcast.catch_up()
    assert refused
    stage.clock.advance(5)
    await stage.broadcast.catch_up()
    assert await counting(stage, proposal_id) == []
