"""Delivery of a card that was deleted: it is posted again once, whatever becomes of the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.cards.content import CardContent
from bot.chat.hearing.known import HIDDEN
from bot.chat.hearing.moderated import card_deleted
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.records import Card
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface


@pytest.mark.parametrize("heard", [False, True])
async def test_a_card_posted_again_whose_answer_is_lost_keeps_its_claim(heard: bool) -> None:
    """Under another claim it would be looked for in vain, and stand there twice."""
    surface = _AnswersLost()
    stage = Stage(surface)
    await stage.submits(PROD, approval_class="dual")
    await stage.delivery().drain()
    surface.gone.add("m1")
    if heard:
        await card_deleted(stage.world.workflow.world, surface.name, "m1")
    await stage.world.approves("ana", "p1")
    surface.losing = 2
    for _ in range(3):
        await stage.delivery().drain()
        stage.world.clock.advance(10)

    first, *again = [claim for _, _, claim in surface.posted]
    assert len(again) == 3
    assert len(set(again)) == 1
    assert first not in again
    assert (await stage.card()).delivered


class _AnswersLost(FakeSurface):
    """Posts cards, and loses so many answers."""

    losing = 0

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        posted = await super().post_card(content, claim)
        if self.losing:
            self.losing -= 1
            raise SurfaceFailed("the answer was lost")
        return posted


class _Swept(FakeSurface):
    """Something deletes each card the moment it stands, and is heard before it is written down."""

    stage: Stage
    times = 100

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        posted = await super().post_card(content, claim)
        if self.times:
            self.times -= 1
            self.gone.add(posted.message_id)
            self.stage.delivery().vanished.note(posted.message_id)
            await card_deleted(self.stage.world.workflow.world, self.name, posted.message_id)
        return posted


async def test_a_card_that_went_before_it_was_written_down_counts_as_shown_nowhere() -> None:
    surface = _Swept()
    stage = surface.stage = Stage(surface)
    surface.times = 1
    await stage.submits(PROD)
    await stage.delivery().drain()

    assert [message_id for message_id, _, _ in surface.posted] == ["m1", "m2"]
    assert len({claim for _, _, claim in surface.posted}) == 2
    card = await stage.card()
    assert card.delivered
    assert card.message_ids == ("m1", "m2")


async def test_what_deletes_every_card_at_once_is_answered_ever_slower() -> None:
    """As bots do that keep a channel clean: each post would bring the next, for ever."""
    surface = _Swept()
    stage = surface.stage = Stage(surface)
    await stage.submits(PROD)
    posts = []
    for _ in range(300):
        await stage.delivery().drain()
        posts.append(len(surface.posted))
        stage.world.clock.advance(1)

    assert posts[0] == 4  # once, and three times again
    assert posts[60] <= 9
    assert 11 <= posts[-1] <= 14  # never less than once a minute
    assert not (await stage.card()).delivered

    surface.times = 0
    stage.world.clock.advance(60)
    await stage.delivery().drain()
    assert (await stage.card()).delivered


async def test_a_card_that_stood_for_a_while_is_posted_again_at_once_however_often() -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD)
    for times in range(1, 8):
        await stage.delivery().drain()
        assert len(surface.posted) == times
        stage.world.clock.advance(60)
        surface.gone.add(f"m{times}")
        await card_deleted(stage.world.workflow.world, surface.name, f"m{times}")


async def test_a_card_whose_edits_failed_is_posted_again_at_once_when_it_is_deleted() -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD, approval_class="dual")
    await stage.delivery().drain()
    await stage.world.approves("ana", "p1")
    surface.failures = [SurfaceFailed("edited too often", retry_after_s=60)]
    await stage.delivery().drain()
    surface.gone.add("m1")
    await card_deleted(stage.world.workflow.world, surface.name, "m1")
    await stage.delivery().drain()

    assert (await stage.card()).message_ids == ("m1", "m2")


async def test_a_card_that_is_known_to_be_deleted_is_not_noted_as_deleted_again() -> None:
    """It is told of, and found by each reading, as long as it cannot be posted again."""
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    surface.failures = [SurfaceFailed("may not post", lasting=True)] * 100
    noted = []
    for _ in range(3):
        noted.append(await card_deleted(stage.world.workflow.world, surface.name, "m1"))
        await stage.delivery().drain()
        stage.world.clock.advance(60)

    assert noted == [True, False, False]


@pytest.mark.parametrize("known", [{"shown_version": 0}, {"shown_version": HIDDEN}])
async def test_a_card_deleted_while_it_is_edited_since_it_showed_too_little_is_posted_again(
    known: dict[str, int],
) -> None:
    """As where its file lacked, or somebody had removed what it shows."""

    class DeletedThen(FakeSurface):
        async def edit_card(self, content: CardContent, card: Card) -> Posted:
            posted = await super().edit_card(content, card)
            self.gone.add(posted.message_id)
            await card_deleted(stage.world.workflow.world, self.name, posted.message_id)
            return posted

    surface = DeletedThen()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    delivered = known["shown_version"] == 0
    before = replace(await stage.card(), delivered=delivered, **known)
    await stage.world.store.write(lambda tx: tx.cards.put(before))
    await stage.delivery().drain()

    assert (await stage.card()).message_ids == ("m1", "m2")


async def test_a_claim_under_which_nothing_stands_any_more_is_used_no_longer() -> None:
    class SaysGone(FakeSurface):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            if not claims:
                claims.append(claim)
                raise CardGone("the message of this nonce is gone")
            claims.append(claim)
            return await super().post_card(content, claim)

    claims: list[str] = []
    surface = SaysGone()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    stage.world.clock.advance(2)
    await stage.delivery().drain()

    assert len(set(claims)) == 2
    assert (await stage.card()).delivered


async def test_a_card_that_takes_edits_although_it_was_said_to_be_deleted_is_edited_once() -> None:
    """As of a message that a platform only hides: each edit was followed by the next, for ever."""

    class Hides(FakeSurface):
        async def edit_card(self, content: CardContent, card: Card) -> Posted:
            assert len(self.edited) < 10
            return await super().edit_card(content, card)

    surface = Hides()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    stage.world.clock.advance(60)
    stage.delivery().vanished.note("m1")
    await card_deleted(stage.world.workflow.world, surface.name, "m1")
    await stage.delivery().drain()

    assert [message_id for message_id, _ in surface.edited] == ["m1"]
    assert (await stage.card()).delivered
