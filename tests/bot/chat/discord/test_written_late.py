"""A card that stands long before it is written down: what is given on it meanwhile is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.bot.chat.discord.standing import DEPLOY, state_of
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage


@dataclass
class SlowDisk:
    """Takes its time over the first row that says where a card stands, and over nothing else."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    def serves(self, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def slowly(unit: Any) -> Any:
            if "Delivery._written" in str(unit) and not self.reached.is_set():
                self.reached.set()
                await self.goes_on.wait()
            return await write(unit)

        return slowly


@pytest.fixture
def disk(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    slow = SlowDisk()
    monkeypatch.setattr(stage.store, "write", slow.serves(stage.store.write))
    return slow


async def given_before_it_is_written(
    stage: DiscordStage, disk: SlowDisk, person: str, emoji: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Message]:
    """Let somebody's emoji be given up before the row of its card is there."""
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    proposal_id = stage.sends(PROD)
    await disk.reached.wait()
    [card] = stage.server.cards()
    stage.server.reacts(person, card, emoji)
    await stage.ignored("unknown_proposal")
    stage.clock.advance(12)
    stage.surface.hearing.alive()
    disk.goes_on.set()
    await stage.card(proposal_id)
    await stage.quiet()
    return proposal_id, card


async def test_a_stop_given_on_it_is_heard_before_an_approval_counts(
    stage: DiscordStage, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await given_before_it_is_written(stage, disk, BEN, CROSS, monkeypatch)

    stage.server.reacts(ANA, card, TICK)

    await stage.reaches(proposal_id, "rejected")
    assert stage.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize(("emoji", "state"), [(CROSS, "rejected"), (TICK, "completed")])
async def test_what_was_given_on_it_counts_soon(
    stage: DiscordStage,
    disk: SlowDisk,
    monkeypatch: pytest.MonkeyPatch,
    emoji: str,
    state: str,
) -> None:
    proposal_id, _ = await given_before_it_is_written(stage, disk, ANA, emoji, monkeypatch)

    await stage.keeps_house()
    await stage.quiet()

    assert await state_of(stage, proposal_id) == state
