"""Delivery: what is due arrives, again and again until it does, and a person learns when not."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.broadcast import Broadcast
from bot.chat.commands import Commands
from bot.chat.content import CardContent
from bot.chat.delivery import ATTENTION_AFTER, Delivery
from bot.chat.surface import Posted, SurfaceFailed
from bot.chat.terminal import keyboard
from bot.expected import StartFailed
from bot.storage.memory import MemoryStore
from lifecycle.door import announce
from lifecycle.policy import Policy
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card, Message
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.surface import FakeSurface
from tests.roomy import a_roomy_policy
from tests.world import World, a_world


class Stage:
    """The law with fake surfaces in place of the plain notifier."""

    def __init__(self, *surfaces: FakeSurface, policy: Policy | None = None) -> None:
        self.world: World = a_world(MemoryStore(), policy)
        self.broadcast = Broadcast(surfaces)
        self.world.workflow.world.notifier = self.broadcast
        self.broadcast.attach(self.world.workflow.world)

    def delivery(self, name: str = "discord") -> Delivery:
        return self.broadcast.delivery(name)

    async def submits(
        self, document: dict, proposal_id: str = "p1", *, by: str = "leila", **changes: Any
    ) -> str:
        sender = self.world.sender(by)

        document = document | {"proposal_id": proposal_id, "actor": by} | changes
        raw = json.dumps(document).encode()
        answer = await self.world.workflow.submit(raw, sender)
        assert answer.proposal_id is not None, answer
        return answer.proposal_id

    async def card(self, surface: str = "discord", proposal_id: str = "p1") -> Card:
        card = await self.world.store.read(lambda tx: tx.cards.get(proposal_id, surface))
        assert card is not None
        return card


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


async def test_a_window_may_close_once_one_surface_was_read() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    await stage.submits(PROD)
    discord.readable = False
    assert await stage.broadcast.read_cards("p1")
    slack.readable = False
    assert not await stage.broadcast.read_cards("p1")


async def test_a_person_is_lost_only_where_no_account_of_theirs_is_left() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    discord.members = {"ana": False, "dee": False, "ben": True}
    slack.members = {"ana": True, "ben": True}

    lost = await stage.broadcast.lost_members(["ana", "ben", "dee", "cal"])
    assert lost == {"dee"}


async def test_who_cannot_be_read_is_lost_but_not_surely() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    discord.members = {"ana": None, "dee": False, "ben": None}
    slack.members = {"ana": False, "ben": True}

    assert await stage.broadcast.lost_members(["ana", "ben", "dee"]) == {"ana", "dee"}
    assert await stage.broadcast.lost_members(["ana", "ben", "dee"], surely=True) == {"dee"}


async def test_what_was_missed_is_read_on_every_surface() -> None:
    stage = Stage(FakeSurface("discord"), FakeSurface("slack"))

    assert await stage.broadcast.catch_up() == 4
    assert stage.broadcast.health() == ("discord: connected", "slack: connected")


class Breaking(FakeSurface):
    """A surface on which people are met, whose first lives end by mistakes of ours."""

    def __init__(self, *ends: BaseException) -> None:
        super().__init__()
        self.ends = list(ends)
        self.lives = 0

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        self.lives += 1
        if self.ends:
            raise self.ends.pop(0)


async def test_a_surface_that_ends_by_a_mistake_of_ours_is_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.broadcast._BEGIN_ANEW_S", (0, 0))
    surface = Breaking(ZeroDivisionError(), asyncio.CancelledError())
    stage = Stage(surface)
    stage.broadcast = Broadcast([surface])

    await stage.broadcast.serve(stage.world.workflow)

    assert surface.lives == 3


async def test_a_surface_that_cannot_start_ends_the_bot_where_it_is_alone() -> None:
    surface = Breaking(StartFailed("a wrong token"))
    stage = Stage(surface)
    stage.broadcast = Broadcast([surface])

    with pytest.raises(StartFailed):
        await stage.broadcast.serve(stage.world.workflow)


async def test_a_card_that_is_not_read_in_time_is_left_to_itself_and_counts_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.broadcast._PATIENCE_S", 0.05)
    surface, gate = FakeSurface(), asyncio.Event()
    stage = Stage(surface)
    await stage.submits(PROD)
    asked: list[asyncio.Task[bool] | None] = []

    async def slow(card: Card) -> bool:
        asked.append(asyncio.current_task())
        await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", slow)
    assert not await stage.broadcast.read_cards("p1")
    assert not await stage.broadcast.read_cards("p1")
    gate.set()
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 1, "its answer came late and counts all the same"
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 2


async def test_an_answer_that_came_far_too_late_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.broadcast._PATIENCE_S", 0.01)
    monkeypatch.setattr("bot.chat.broadcast._COUNTS_S", -1.0)
    monkeypatch.setattr("bot.chat.broadcast._MOST_LATE", 1)
    surface, gate, asked = FakeSurface(), asyncio.Event(), []
    stage = Stage(surface)
    await stage.submits(PROD)

    async def slow(card: Card) -> bool:
        asked.append(card)
        await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", slow)
    assert not await stage.broadcast.read_cards("p1")
    gate.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 2


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


async def test_without_a_surface_nothing_was_missed() -> None:
    assert await Stage().broadcast.catch_up() == 0


async def test_cards_are_shown_although_nobody_can_be_met_any_more() -> None:
    surface = Breaking()
    stage = Stage(surface)
    broadcast = Broadcast([surface])
    stage.world.workflow.world.notifier = broadcast
    serving = asyncio.create_task(broadcast.serve(stage.world.workflow, on=True))
    while not surface.lives:  # noqa: ASYNC110 - it has no more to tell than that
        await asyncio.sleep(0)
    await stage.submits(PROD)
    broadcast.nudge()
    async with asyncio.timeout(5):
        while not surface.posted:  # noqa: ASYNC110 - nor has this
            await asyncio.sleep(0)
    assert not serving.done()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


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

    assert len(surface.said) == 2  # once more at once, and then after a pause


def test_the_history_of_the_keyboard_keeps_no_credential(tmp_path: Path) -> None:
    history = keyboard._history(tmp_path / "data" / "history")
    history.store_string('leila: propose {"body": "key AKIAIOSFODNN7EXAMPLE"}')

    kept = (tmp_path / "data" / "history").read_text()
    assert "AKIAIOSFODNN7EXAMPLE" not in kept
    assert "leila: propose" in kept


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


# -- whose turn it is -------------------------------------------------------------------------

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


async def test_a_stop_that_comes_while_new_cards_are_posted_is_shown_with_the_next_one() -> None:
    class Stopped(InOrder):
        async def post_card(self, content: CardContent, claim: str) -> Posted:
            if len(self.shown) == 5:
                await stage.world.rejects("ben", "begun")
                await asyncio.sleep(0.11)  # as a platform with a limit takes its time
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
