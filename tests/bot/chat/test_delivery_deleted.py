"""Delivery of a card that was deleted: it is posted again once, whatever becomes of the answer."""

from __future__ import annotations

import pytest

from bot.chat.cards.content import CardContent
from bot.chat.hearing.moderated import card_deleted
from bot.chat.surface import Posted, SurfaceFailed
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
