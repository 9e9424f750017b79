"""A card may stand elsewhere by the time its surface has answered: deleted and posted anew, or
found where nobody had noted it. What was said of the one message says nothing of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.found import Found
from bot.chat.hearing.hearing import Trouble
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.senders import sender_of
from bot.chat.surface import SurfaceFailed
from lifecycle.records import Card
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface


class Heard(FakeSurface):
    """A surface that is asked for the ❌ on its card, and where that stood then."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.stage: Stage | None = None
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.looked_at: list[tuple[str, ...]] = []

    async def stops_heard(self, proposal_id: str) -> bool:
        assert self.stage is not None
        self.looked_at.append((await self.stage.card(self.name)).message_ids)
        if self.meanwhile is not None:
            await self.meanwhile()
        return True

    def trouble(self) -> Trouble | None:
        return None


async def on_slack_alone(discord: FakeSurface, slack: FakeSurface) -> Stage:
    """Show p1 on both, and let the answer to the post on Discord be lost."""
    stage = Stage(discord, slack)
    await stage.submits(PROD)
    discord.failures = [SurfaceFailed("its answer is lost")]
    await stage.delivery("discord").drain()
    await stage.delivery("slack").drain()
    return stage


async def test_what_was_read_of_a_message_is_not_taken_for_another_in_which_the_card_stands_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The platform was slow, and the window closed over a ❌ on the card that was posted anew."""
    monkeypatch.setattr("bot.chat.hearing.card_readings.PATIENCE_S", 0.05)
    surface, gate = FakeSurface(), asyncio.Event()
    stage, read = Stage(surface), list[str]()
    await stage.submits(PROD)
    await stage.delivery().drain()

    async def first_slowly(card: Card) -> bool:
        read.append(card.message_ids[-1])
        if len(read) == 1:
            await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", first_slowly)
    assert not await stage.broadcast.read_cards("p1")
    gate.set()
    card = await stage.card()
    anew = replace(card, message_ids=(*card.message_ids, "m9"))
    await stage.world.store.write(lambda tx: tx.cards.put(anew))

    assert await stage.broadcast.read_cards("p1")
    assert read == [card.message_ids[-1], "m9"]


async def test_a_card_that_is_found_while_others_are_heard_is_heard_before_anything_begins() -> (
    None
):
    """What had waited began over the ❌ that stood there all the time."""
    discord, slack = Heard("discord"), Heard("slack")
    stage = await on_slack_alone(discord, slack)
    discord.stage = slack.stage = stage

    async def finds_it() -> None:
        stage.world.clock.advance(1)
        await stage.delivery("discord").drain()

    slack.meanwhile = finds_it
    assert await stage.broadcast.hear_others("p1", "")
    assert discord.looked_at == [(await stage.card("discord")).message_ids] != [()]


async def test_an_answer_about_the_message_before_is_waited_for_by_nobody_who_asks_about_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.hearing.others._ANSWERED_S", 0.05)
    discord, gate = Heard("discord"), asyncio.Event()
    stage = Stage(discord)
    discord.stage, discord.meanwhile = stage, gate.wait
    await stage.submits(PROD)
    await stage.delivery().drain()
    assert not await stage.broadcast.hear_others("p1", "slack")
    card = await stage.card()
    anew = replace(card, message_ids=(*card.message_ids, "m9"))
    await stage.world.store.write(lambda tx: tx.cards.put(anew))
    discord.meanwhile = None

    assert await stage.broadcast.hear_others("p1", "slack")
    assert discord.looked_at[-1][-1] == "m9"
    gate.set()


async def test_a_late_reading_of_one_message_refuses_nothing_in_the_next() -> None:
    """Ana's ✅ there was not heard, and was refused for good with the one that nobody counted."""
    stage = Stage(FakeSurface())
    await stage.submits(PROD)
    await stage.delivery().drain()
    before = await stage.card()
    anew = replace(before, message_ids=(*before.message_ids, "m9"))
    await stage.world.store.write(lambda tx: tx.cards.put(anew))
    ana = sender_of(stage.world.workflow.policy, "discord", "1001")
    reads = CatchingUp(stage.world.workflow, "discord", Lanes(whole=True))
    assert await reads.apply(before, Found([ana])) == 0
    assert await reads.apply(anew, Found([ana])) == 1
