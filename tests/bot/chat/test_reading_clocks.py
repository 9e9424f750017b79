"""Whether something may stand on a card unheard does not rest on a clock that was set back."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.chat.hearing.hearing import Hearing
from bot.chat.hearing.reading import Reading
from lifecycle.records import Card
from tests.builders import NOW_MS
from tests.stage import in_memory


@pytest.mark.parametrize(("posted_after_s", "unread"), [(1, False), (3, True), (3_600, True)])
async def test_a_card_that_a_clock_posted_which_was_ahead_is_read_after_a_start(
    tmp_path: Path, posted_after_s: int, *, unread: bool
) -> None:
    read: list[str] = []

    async def reads(card: Card) -> int:
        read.append(card.message_ids[-1])
        return 0

    posted_ms = NOW_MS + posted_after_s * 1000
    card = Card("p1", "discord", 1, 1, ("m1",), delivered=True, posted_at_ms=posted_ms)
    async with in_memory(tmp_path) as world:
        hearing = Hearing(world.clock.now_ms)
        hearing.began()
        world.clock.advance(2)
        hearing.alive()
        reading = Reading(world.workflow, "discord", hearing, reads, lambda: True)

        assert await reading.may_be_unread(card) is unread
        assert await reading.read_card(card)

    assert read == (["m1"] if unread else [])
