"""Whose turn it is in delivery: no agent's flood holds up a stop, a message or another's card."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import pytest

from bot.chat.cards.content import CardContent
from bot.chat.showing.due import ATTENTION_AFTER
from bot.chat.surface import Posted, SurfaceFailed
from lifecycle.announcing import announce
from lifecycle.ports import Transaction
from lifecycle.records import Card, Message
from lifecycle.state import State
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface
from tests.roomy import a_roomy_policy

#: More than one agent alone may have on a page of any kind.
FLOOD = 60


class InOrder(FakeSurface):
    """Keeps what it showed and said in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        self.shown.append(f"new {content.proposal_id}")
        return await super().post_card(content, claim)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        self.shown.append(f"edit {content.proposal_id}")
        return await super().edit_card(content, card)

    async def say(self, message: Message) -> str | None:
        self.shown.append(f"say {message.recipient or message.body['text']}")
        return await super().say(message)


async def flooded(surface: FakeSurface, begun: str | None = None) -> Stage:
    """Let leila want many cards, after that of `begun`, and nour one after them."""
    stage = Stage(surface, policy=a_roomy_policy())
    if begun is not None:
        await stage.submits(PROD, begun, parameters={"version": "v1"})
        await stage.delivery().drain()
    for number in range(FLOOD):
        await stage.submits(PROD, f"leila{number:02}", parameters={"version": f"v{number}.2"})
    await stage.submits(PROD, "nour", by="nour", parameters={"version": "v1.3"})
    return stage


async def test_N03_cards_come_by_turns_of_their_proposers_however_many_one_of_them_wants() -> None:
    surface = InOrder()
    stage = await flooded(surface)
    await stage.delivery().drain()

    assert surface.shown.index("new nour") < 2
    leilas = [each for each in surface.shown if each.startswith("new leila")]
    assert leilas == sorted(leilas)
    assert len(leilas) == FLOOD


async def test_what_became_of_a_card_and_what_people_are_told_come_before_all_new_cards() -> None:
    surface = InOrder()
    stage = await flooded(surface, "begun")
    moment = stage.world.workflow.world.moment()
    await stage.world.store.write(lambda tx: announce(tx, moment, "fire", "fire!"))
    await stage.world.rejects("ben", "begun")
    del surface.shown[:]
    await stage.delivery().drain()

    assert sorted(surface.shown[:2]) == ["edit begun", "say fire!"]


async def test_a_stop_that_comes_while_new_cards_are_posted_is_shown_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A platform with a limit takes its time; what is due is asked for anew after each card here.
    monkeypatch.setattr("bot.chat.showing.due._LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr("bot.chat.showing.due._WORTH", 0)

    class Stopped(InOrder):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            if len(self.shown) == 5:
                await stage.world.rejects("ben", "begun")
            return await super().post_card(content, claim)

    surface = Stopped()
    stage = await flooded(surface, "begun")
    await stage.delivery().drain()

    assert surface.shown.index("edit begun") == 6


async def test_whoever_looks_for_a_card_waits_for_the_one_under_way_and_not_for_a_flood() -> None:
    seen: list[int] = []

    async def looks() -> None:
        async with stage.delivery().held():
            seen.append(len(surface.shown))

    class Watched(InOrder):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            if len(self.shown) == 3:
                looking.append(asyncio.create_task(looks()))
                await asyncio.sleep(0)
            return await super().post_card(content, claim)

    looking: list[asyncio.Task[None]] = []
    surface = Watched()
    stage = await flooded(surface)
    await stage.delivery().drain()
    await asyncio.gather(*looking)

    assert seen == [4]


async def test_a_card_that_waits_for_sentinels_word_holds_up_no_other_proposer() -> None:
    surface = InOrder()
    stage = Stage(surface)
    await stage.submits(PROD, "waits")
    seen = await stage.world.proposal("waits")
    unjudged = replace(seen, state=State.PENDING, verdict=None)
    await stage.world.store.write(lambda tx: tx.proposals.save(unjudged, seen))
    await stage.submits(PROD, "judged", by="nour")
    await stage.delivery().drain()

    assert surface.shown == ["new judged"]


async def test_a_mistake_of_ours_with_one_card_silences_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(InOrder):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            if content.proposal_id == "p1":
                raise ZeroDivisionError
            return await super().post_card(content, claim)

    surface = Broken()
    stage = Stage(surface)
    await stage.submits(PROD)
    await stage.submits(PROD, "p2", parameters={"version": "v2"})
    for _ in range(ATTENTION_AFTER):
        await stage.delivery().drain()
        stage.world.clock.advance(60)

    assert "new p2" in surface.shown
    assert "ZeroDivisionError" in caplog.text
    assert (await stage.world.proposal("p1")).attention == "card_undelivered"


async def test_a_platform_that_takes_nothing_is_not_asked_for_every_card_that_waits() -> None:
    surface = InOrder()
    surface.failures = [SurfaceFailed("503")] * 10_000
    stage = await flooded(surface)
    await stage.delivery().drain()

    assert len(surface.shown) <= 20


async def test_people_are_told_however_many_answers_to_an_agent_the_platform_refuses_for_good() -> (
    None
):
    """As many as are looked at stood before every announcement, and were refused at each look."""

    class NoFiles(InOrder):
        async def say(self, message: Message) -> str | None:
            if message.recipient == "leila":
                raise SurfaceFailed("may not attach files", lasting=True)
            return await super().say(message)

    surface = NoFiles()
    stage = Stage(surface)
    now_ms = stage.world.clock.now_ms()

    def refused(tx: Transaction) -> None:
        for number in range(1_100):
            key = f"end:{number}"
            tx.outbox.add(Message(key, "discord", "leila", "ended", {}, now_ms))
            for _ in range(ATTENTION_AFTER):
                tx.outbox.failed(key, now_ms, "may not attach files")

    await stage.world.store.write(refused)
    moment = stage.world.workflow.world.moment()
    await stage.world.store.write(lambda tx: announce(tx, moment, "news", "The audit head: 7"))
    await stage.delivery().drain()

    assert surface.shown == ["say The audit head: 7"]


async def test_N03_a_platform_that_is_away_is_tried_a_little_each_second_whatever_goes_on() -> None:
    """Each write nudges, and each look at 10,000 waiting cards took a tenth of a second."""
    surface = FakeSurface()
    stage = await flooded(surface)
    away = [SurfaceFailed("away") for _ in range(1_000)]
    surface.failures = list(away)
    delivering = asyncio.create_task(stage.delivery().run())

    tried = []
    for _ in range(3):
        for _ in range(10):
            stage.delivery().nudge()
            await stage.world.clock.run_for(0.01)
        tried.append(len(away) - len(surface.failures))
        await stage.world.clock.run_for(1)

    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)
    assert tried[0] == 20
    assert all(more - less <= 40 for less, more in itertools.pairwise(tried))


async def test_people_are_told_at_once_however_many_answers_wait_for_an_agent() -> None:
    """The oldest thousand were looked at, and an announcement behind them waited for their end."""
    surface = InOrder()
    stage = Stage(surface)
    now_ms = stage.world.clock.now_ms()

    def ended(tx: Transaction) -> None:
        for number in range(1_100):
            tx.outbox.add(Message(f"end:{number}", "discord", "leila", "ended", {}, now_ms))

    await stage.world.store.write(ended)
    moment = stage.world.workflow.world.moment()
    await stage.world.store.write(lambda tx: announce(tx, moment, "news", "The audit head: 7"))
    await stage.delivery().drain()

    assert surface.shown[0] == "say The audit head: 7"
    assert len(surface.shown) == 1_101


async def test_everybody_is_told_at_once_however_many_notes_wait_for_one_person() -> None:
    """The oldest thousand were looked at, and the announcement waited for a thousand notes."""
    surface = InOrder()
    stage = Stage(surface)
    now_ms = stage.world.clock.now_ms()

    def noted(tx: Transaction) -> None:
        for number in range(1_100):
            note = Message(f"ask:{number}", "discord", "olga", "note", {"text": "Hm."}, now_ms)
            tx.outbox.add(note)

    await stage.world.store.write(noted)
    moment = stage.world.workflow.world.moment()
    await stage.world.store.write(lambda tx: announce(tx, moment, "news", "The audit head: 7"))
    await stage.delivery().drain()

    assert "say The audit head: 7" in surface.shown[:2]
    assert len(surface.shown) == 1_101
