"""Whoever puts emoji on what the bot says makes it look for cards, and post no shower of them."""

from __future__ import annotations

import pytest

from bot.chat.hearing.incoming import Incoming
from bot.chat.hearing.unplaced import Unplaced
from bot.chat.surface import SurfaceFailed
from lifecycle.records import Card
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface

MINUTES_S = 600


class AnswerLost(SurfaceFailed):
    """A failure after which the card may stand all the same."""

    may_be_done = True


async def posts_in_ten_minutes(first: SurfaceFailed, then: SurfaceFailed, *, emoji: bool) -> int:
    """Return how often a platform that goes on failing is asked to post one card."""
    surface = FakeSurface()
    surface.failures = [first, *[then] * MINUTES_S]
    stage = Stage(surface)
    await stage.submits(PROD)
    incoming, delivery = Incoming(stage.world.workflow, surface.name), stage.delivery()
    for _ in range(MINUTES_S):
        if emoji:
            await incoming.unplaced.look_sooner()
        await delivery.drain()
        stage.world.clock.advance(1)
    return MINUTES_S + 1 - len(surface.failures)


REFUSED = SurfaceFailed("missing_scope", lasting=True)
LIMITED = SurfaceFailed("rate limited", retry_after_s=300)
LOST = AnswerLost("503")


@pytest.mark.parametrize(
    ("first", "then"), [(REFUSED, REFUSED), (LIMITED, LIMITED), (LOST, LIMITED)]
)
async def test_what_was_refused_or_put_off_by_the_platform_is_posted_no_sooner(
    first: SurfaceFailed, then: SurfaceFailed
) -> None:
    posts = await posts_in_ten_minutes(first, then, emoji=True)

    assert posts == await posts_in_ten_minutes(first, then, emoji=False)


@pytest.mark.parametrize("then", [LOST, REFUSED])
async def test_what_may_stand_is_looked_for_sooner_whatever_is_said_later_and_not_all_the_time(
    then: SurfaceFailed,
) -> None:
    posts = await posts_in_ten_minutes(LOST, then, emoji=True)

    # Every four seconds, and once more before people are told that it cannot be shown.
    assert await posts_in_ten_minutes(LOST, then, emoji=False) < posts <= MINUTES_S / 4 + 1


async def test_a_card_that_is_written_down_while_it_is_looked_for_is_found() -> None:
    """Between two looks at the store: it was on no row yet, and then on its way no more."""
    surface = FakeSurface()
    stage, looks = Stage(surface), list[str]()
    await stage.submits(PROD)

    async def card(message_id: str) -> Card | None:
        found = await stage.world.store.read(lambda tx: tx.cards.find(surface.name, message_id))
        if not looks:
            looks.append(message_id)
            await stage.delivery().drain()
        return found

    early = Unplaced(stage.world.workflow.world, surface.name, card)

    assert (await early.card("m1")) == await stage.card()


async def test_what_is_decided_on_what_may_be_a_card_waits_and_a_stop_does_so_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A button leaves no trace on the card: taken for one on no card, what it said is lost."""
    monkeypatch.setattr("bot.chat.hearing.unplaced._PAUSES_S", (0.0,))
    surface = FakeSurface()
    surface.failures = [LOST]
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    early = Incoming(stage.world.workflow, surface.name).unplaced

    async def waits(*, stops: bool) -> bool:
        try:
            assert await early.card("m1", stops=stops) is None
        except SurfaceFailed:
            return True
        return False

    waited = []
    for minutes in (0, 7, 1, 51):
        stage.world.clock.advance(minutes * 60)
        waited.append((await waits(stops=False), await waits(stops=True)))

    assert waited == [(True, True), (True, True), (False, True), (False, True)]
