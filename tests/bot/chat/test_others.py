"""What a ✅ waits for on the other surfaces, and for which of them nobody waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from bot.chat.hearing.hearing import Trouble
from bot.chat.hearing.others import WAITED_MS, Ears, Elsewhere
from bot.storage.memory import MemoryStore
from tests.builders import PROD
from tests.fakes.notifier import PlainNotifier
from tests.world import World, a_world


@dataclass
class Surface:
    """A surface that can read its card, or not, and may have told people so."""

    name: str
    reads: bool = True
    in_trouble: bool = False

    async def stops_heard(self, proposal_id: str) -> bool:
        return self.reads

    def trouble(self) -> Trouble | None:
        return Trouble(1, "the line is down") if self.in_trouble else None


class Never(PlainNotifier):
    """Surfaces of which one can never be read."""

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        return False


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """The law with a card of p1 on two surfaces."""
    stage = a_world(MemoryStore())
    stage.notifier.names = ("slack", "discord")
    await stage.workflow.start()
    await stage.submits(PROD, proposal_id="p1")
    yield stage
    await stage.workflow.shut_down(1)


@pytest.mark.parametrize(
    ("reads", "in_trouble", "counts"),
    [(True, False, True), (False, False, False), (False, True, True), (True, True, True)],
)
async def test_an_approval_waits_for_a_silent_surface_and_for_none_that_people_were_told_of(
    world: World, reads: bool, in_trouble: bool, counts: bool
) -> None:
    slack, discord = Surface("slack"), Surface("discord", reads, in_trouble)
    ears = Ears({"slack": slack, "discord": discord})

    may_count, unread = await ears.hear_others(world.workflow.world, "p1", "slack")

    assert may_count is counts
    assert [card.surface for card in unread] == ([] if reads else ["discord"])


async def test_what_had_to_wait_is_read_on_all_surfaces_before_it_begins(
    world: World,
) -> None:
    slack, discord = Surface("slack", reads=False), Surface("discord")

    may_begin, unread = await Ears({"slack": slack, "discord": discord}).hear_others(
        world.workflow.world, "p1", ""
    )

    assert not may_begin
    assert [card.surface for card in unread] == ["slack"]


async def test_no_approval_waits_for_good_among_very_many(world: World) -> None:
    world.workflow.world.notifier = Never()
    elsewhere = Elsewhere(world.workflow, "slack")
    ids = [f"p{number}" for number in range(1_500)]
    assert not any([await elsewhere.heard(each) for each in ids])
    world.clock.advance(WAITED_MS / 1000)
    assert all([await elsewhere.heard(each) for each in ids])
