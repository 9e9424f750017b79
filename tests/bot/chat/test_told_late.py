"""What a surface is told late, because it was away, says of when it is and calls for nothing over.

A channel that comes back after hours was told of freezes in force that were none, that ended
proposals still wait, and of each card that it could not be shown, while the card stood there.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.surface import SurfaceFailed
from lifecycle.door import call_for_attention
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Attention
from lifecycle.records import Message
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface
from tests.roomy import a_roomy_policy
from tests.stories.test_questions import REFUND, asks, id_of

HOUR_S = 3_600


class Away(FakeSurface):
    """Takes nothing while it is `away`."""

    away = False

    def _fail(self) -> None:
        if self.away:
            raise SurfaceFailed("cannot be reached")
        super()._fail()

    def words(self) -> list[str]:
        return [str(message.body.get("text")) for message in self.said]


@pytest.fixture
def surface() -> Away:
    return Away()


@pytest.fixture
def stage(surface: Away) -> Stage:
    return Stage(surface, policy=a_roomy_policy())


async def is_away(stage: Stage, surface: Away, seconds: int, every_s: int = 20) -> None:
    """Let the surface be away for so long, and be back."""
    surface.away = True
    for _ in range(0, seconds, every_s):
        await stage.delivery().drain()
        stage.world.clock.advance(every_s)
    surface.away = False


async def is_back(stage: Stage) -> None:
    """Deliver what waits, for the two minutes after which nothing waits any more."""
    for _ in range(12):
        await stage.delivery().drain()
        stage.world.clock.advance(10)


async def test_a_freeze_that_is_told_late_says_when_it_was_and_that_it_is_over(
    stage: Stage, surface: Away
) -> None:
    """It was told after the thaw, as if nothing executed."""
    ana = stage.world.sender("ana")
    await stage.world.workflow.operating.freeze(ana, "a look")
    await is_away(stage, surface, HOUR_S)
    await stage.world.workflow.operating.thaw(ana)
    await is_back(stage)

    told = next(words for words in surface.words() if "Frozen by ana" in words)
    assert told.startswith("(Told late: of 2026-03-02 12:00:00 UTC, and thawed since.) ")


async def test_a_freeze_that_still_stands_is_told_late_as_one(stage: Stage, surface: Away) -> None:
    await stage.world.workflow.operating.freeze(stage.world.sender("ana"), "a look")
    await is_away(stage, surface, HOUR_S)
    await is_back(stage)

    (told,) = surface.words()
    assert told.startswith("(Told late: of 2026-03-02 12:00:00 UTC.) Frozen by ana")


async def test_what_is_told_in_time_has_no_time_before_it(stage: Stage, surface: Away) -> None:
    await stage.world.workflow.operating.freeze(stage.world.sender("ana"), "a look")
    await stage.delivery().drain()

    assert surface.words() == ["Frozen by ana: a look. Nothing executes or commits until thaw."]


@pytest.mark.parametrize("rejected", [True, False], ids=["it ended", "it still waits"])
async def test_nobody_is_reminded_late_of_what_waits_no_more(
    stage: Stage, surface: Away, rejected: bool
) -> None:
    await stage.submits(PROD)
    await stage.delivery().drain()
    stage.world.clock.advance(stage.world.workflow.policy.limits.proposal_ttl_s * 0.8)
    assert await stage.world.workflow.remind() == 1
    await is_away(stage, surface, 600)
    if rejected:
        await stage.world.workflow.reject("p1", stage.world.sender("ben"), "no")
    await is_back(stage)

    assert [("still waits" in each) for each in surface.words()] == ([] if rejected else [True])


async def test_a_surface_that_is_back_shows_its_cards_and_is_not_told_that_it_cannot(
    stage: Stage, surface: Away
) -> None:
    cards = [f"p{number}" for number in range(30)]
    surface.away = True
    for number, each in enumerate(cards):
        await stage.submits(PROD, each, parameters={"version": f"v{number}"})
    await is_away(stage, surface, HOUR_S)
    called = await stage.world.store.read(lambda tx: tx.proposals.with_attention(99))
    assert len(called) == len(cards)
    await is_back(stage)

    assert sorted(card.proposal_id for _, card, _ in surface.posted) == sorted(cards)
    assert surface.said == []


async def test_a_card_that_alone_is_refused_is_called_for_also_after_an_absence(
    stage: Stage, surface: Away
) -> None:
    await stage.submits(PROD)
    await is_away(stage, surface, HOUR_S)

    async def refused(*_: object) -> None:
        raise SurfaceFailed("it is refused")

    surface.post_card = refused  # type: ignore[assignment]
    await is_back(stage)

    (told,) = surface.words()
    assert "p1 (production-deploy) needs a person: card_undelivered" in told


@pytest.mark.parametrize("settled", [True, False])
async def test_people_are_called_late_only_to_what_still_needs_them(
    stage: Stage, surface: Away, settled: bool
) -> None:
    await stage.submits(PROD)
    await stage.delivery().drain()

    def calls(tx: Transaction) -> None:
        proposal = tx.proposals.get("p1")
        assert proposal is not None
        moment = stage.world.workflow.world.moment()
        call_for_attention(tx, moment, proposal, Attention.OVERDUE, "Look.", SENTINEL)

    await stage.world.store.write(calls)
    await is_away(stage, surface, 600)
    if settled:
        await stage.world.workflow.reject("p1", stage.world.sender("ben"), "no")
    await is_back(stage)

    assert len(surface.said) == (0 if settled else 1)


async def test_nobody_is_told_late_that_a_window_is_overdue_that_has_closed(
    stage: Stage, surface: Away
) -> None:
    await stage.submits(PROD)
    await stage.delivery().drain()
    now_ms = stage.world.clock.now_ms()
    words = {"text": "p1 is overdue: its window has passed but …"}
    kept = Message("overdue:p1@discord", "discord", "", "announcement", words, now_ms, "p1")
    await stage.world.store.write(lambda tx: tx.outbox.add(kept))
    await is_away(stage, surface, 600)
    await is_back(stage)

    assert surface.said == []


async def test_a_question_that_was_answered_elsewhere_is_not_asked_late(
    stage: Stage, surface: Away
) -> None:
    asked = id_of(await asks(stage.world, REFUND))
    await is_away(stage, surface, 600)
    ana = stage.world.sender("ana")
    await stage.world.workflow.answer_question(asked, ana, "Yes.")
    await is_back(stage)

    assert not any("QUESTION" in words for words in surface.words())


async def test_a_message_about_a_proposal_that_is_not_there_is_told(
    stage: Stage, surface: Away
) -> None:
    now_ms = stage.world.clock.now_ms()
    kept = Message("attention:p9:overdue:3@discord", "discord", "", "announcement", {}, now_ms)
    about = replace(kept, proposal_id="p9", body={"text": "Look."})
    await stage.world.store.write(lambda tx: tx.outbox.add(about))
    await is_away(stage, surface, 600)
    await is_back(stage)

    assert surface.words() == ["(Told late: of 2026-03-02 12:00:00 UTC.) Look."]
