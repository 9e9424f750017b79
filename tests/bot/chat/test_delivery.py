"""Delivery: what is due arrives, again and again until it does, and a person learns when not."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from bot.chat.cards.content import CardContent
from bot.chat.hearing.moderated import card_deleted
from bot.chat.showing.due import ATTENTION_AFTER
from bot.chat.surface import Posted, SurfaceFailed
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.state import State
from tests.bot.chat.delivering import Stage
from tests.builders import MAIL, PROD
from tests.fakes.surface import FakeSurface


async def test_a_card_is_posted_once_and_edited_after() -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    await stage.delivery().drain()
    await stage.world.rejects("ben", "p1")
    await stage.delivery().drain()

    assert [message for message, _, _ in surface.posted] == ["m1"]
    assert surface.edited[-1][0] == "m1"
    assert surface.edited[-1][1].final
    card = await stage.card()
    assert card.shown_version == card.wanted_version
    assert card.delivered
    assert card.message_ids == ("m1",)


async def test_a_card_that_could_not_be_posted_is_tried_again_with_the_same_claim() -> None:
    surface = FakeSurface()
    surface.failures = [SurfaceFailed("503"), SurfaceFailed("503", retry_after_s=7)]
    stage = Stage(surface)
    await stage.submits(PROD)

    await stage.delivery().drain()
    first = await stage.card()
    assert (first.attempts, first.delivered, first.why) == (1, False, "503")
    await stage.delivery().drain()
    assert surface.posted == []  # not yet due

    stage.world.clock.advance(1)
    await stage.delivery().drain()
    stage.world.clock.advance(6)
    await stage.delivery().drain()
    assert surface.posted == []  # the platform said 7 s
    stage.world.clock.advance(1)
    await stage.delivery().drain()

    assert surface.posted[0][2] == first.claim != ""
    card = await stage.card()
    assert (card.attempts, card.delivered) == (0, True)
    proposal = await stage.world.proposal("p1")
    assert proposal.attention is None


async def test_a_card_that_stays_away_needs_a_person_until_it_stands() -> None:
    surface = FakeSurface()
    surface.failures = [SurfaceFailed("503")] * ATTENTION_AFTER
    stage = Stage(surface)
    await stage.submits(PROD)

    for _ in range(ATTENTION_AFTER):
        await stage.delivery().drain()
        stage.world.clock.advance(60)
    assert (await stage.world.proposal("p1")).attention == "card_undelivered"

    await stage.delivery().drain()
    await stage.delivery().drain()
    assert (await stage.world.proposal("p1")).attention is None
    assert surface.posted
    announced = [message.body["text"] for message in surface.said]
    assert any("card_undelivered" in words for words in announced)


async def test_a_lasting_failure_is_told_at_once_and_nothing_executes() -> None:
    surface = FakeSurface()
    surface.failures = [SurfaceFailed("no permission", lasting=True)]
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()

    assert (await stage.world.proposal("p1")).attention == "card_undelivered"
    await stage.world.approves("ben", "p1")
    assert (await stage.world.proposal("p1")).state is State.SENTINEL_APPROVED
    assert stage.world.tool("production-deploy").calls == []


async def test_one_surface_that_shows_the_card_is_enough() -> None:
    slack = FakeSurface("slack")
    slack.failures = [SurfaceFailed("gone", lasting=True)]
    stage = Stage(FakeSurface("discord"), slack)
    await stage.submits(PROD)
    await stage.delivery("discord").drain()
    await stage.delivery("slack").drain()

    assert (await stage.world.proposal("p1")).attention is None


async def test_a_deleted_card_is_posted_again_and_changes_no_review() -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD | {"approval_class": "dual"})
    await stage.delivery().drain()
    surface.gone.add("m1")
    await stage.world.approves("ben", "p1")
    await stage.delivery().drain()

    card = await stage.card()
    assert card.message_ids == ("m1", "m2")
    assert surface.posted[0][2] != surface.posted[1][2]
    reviews = await stage.world.store.read(lambda tx: tx.reviews.of("p1"))
    assert [each.counts for each in reviews] == [True]


class DeletedMeanwhile(FakeSurface):
    """Somebody deletes a card in the moment in which it is edited."""

    stage: Stage

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        posted = await super().edit_card(content, card)
        self.gone.add(posted.message_id)
        await card_deleted(self.stage.world.workflow.world, self.name, posted.message_id)
        return posted


async def test_a_card_deleted_while_its_edit_is_written_down_is_posted_again() -> None:
    surface = DeletedMeanwhile()
    stage = surface.stage = Stage(surface)
    await stage.submits(PROD, approval_class="dual")
    await stage.delivery().drain()
    await stage.world.approves("ana", "p1")
    await stage.delivery().drain()
    assert [message for message, _, _ in surface.posted] == ["m1", "m2"]
    card = await stage.card()
    assert (card.delivered, card.message_ids) == (True, ("m1", "m2"))
    assert card.shown_version == card.wanted_version


async def test_a_deleted_card_of_what_is_over_is_left_alone() -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()
    surface.gone.add("m1")
    await stage.world.rejects("ben", "p1")
    await stage.delivery().drain()

    assert len(surface.posted) == 1
    card = await stage.card()
    assert card.shown_version == card.wanted_version


async def test_M02_without_the_attachment_nothing_can_be_approved() -> None:
    surface = FakeSurface(full=False)
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()

    reply = await stage.world.approves("ben", "p1")
    assert reply.code == "not_fully_shown"


async def test_messages_wait_until_they_were_said_and_are_said_once() -> None:
    surface = FakeSurface("terminal")
    stage = Stage(surface)
    await stage.submits(MAIL)
    await stage.delivery("terminal").drain()
    await stage.world.rejects("ben", "p1")
    surface.failures = [SurfaceFailed("down"), SurfaceFailed("down")]
    await stage.delivery("terminal").drain()
    assert surface.said == []

    stage.world.clock.advance(60)
    await stage.delivery("terminal").drain()
    await stage.delivery("terminal").drain()
    ended = [message for message in surface.said if message.kind == "ended"]
    assert [message.body["state"] for message in ended] == ["rejected"]


async def test_what_was_said_and_cannot_be_noted_is_not_said_again_at_every_nudge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    surface = FakeSurface()
    stage = Stage(surface)
    await stage.world.workflow.freeze("incident 7", stage.world.sender("ana"))

    async def full(_unit: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(stage.world.store, "write", full)
    delivering = asyncio.create_task(stage.delivery().run())
    for _ in range(500):
        stage.delivery().nudge()
        await asyncio.sleep(0)
    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)

    said = [message.key.partition(":")[0] for message in surface.said]
    assert said.count("freeze") == 2  # once more at once, and then after a pause
    told = [str(message.body["text"]) for message in surface.said if message.key[:6] != "freeze"]
    assert [words[:34] for words in told] == ["The store cannot be written since "]


async def test_a_cancellation_out_of_a_library_ends_no_delivery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    surface, shown = FakeSurface(), asyncio.Event()
    stage, real, tried = Stage(surface), surface.post_card, asyncio.Event()

    async def post_card(content: CardContent, claim: str) -> Posted:
        if not tried.is_set():
            tried.set()
            raise asyncio.CancelledError  # as aiohttp does where a session closes in a lookup
        shown.set()
        return await real(content, claim)

    monkeypatch.setattr(surface, "post_card", post_card)
    running = asyncio.create_task(stage.delivery().run())
    await stage.submits(PROD)
    stage.delivery().nudge()
    await asyncio.wait_for(tried.wait(), 5)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not running.done()
    stage.world.clock.advance(3_600)
    stage.delivery().nudge()
    await asyncio.wait_for(shown.wait(), 5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()


async def test_a_cancellation_that_a_surface_takes_for_its_own_ends_the_delivery() -> None:
    entered = asyncio.Event()

    class Swallowing(FakeSurface):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            entered.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return await super().post_card(content, claim)

    stage = Stage(Swallowing())
    await stage.submits(PROD)
    delivering = asyncio.create_task(stage.delivery().run())
    stage.delivery().nudge()
    await entered.wait()

    delivering.cancel()
    done, _ = await asyncio.wait([delivering], timeout=5)

    assert done
    assert delivering.cancelled()


@pytest.mark.parametrize("asked_s", [10**9, 1e30, float("inf")])
async def test_no_platform_puts_a_card_off_for_more_than_an_hour(asked_s: float) -> None:
    surface = FakeSurface()
    surface.failures = [SurfaceFailed("429", retry_after_s=asked_s)]
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.delivery().drain()

    stage.world.clock.advance(3_599)
    await stage.delivery().drain()
    assert surface.posted == []
    stage.world.clock.advance(1)
    await stage.delivery().drain()

    assert len(surface.posted) == 1
