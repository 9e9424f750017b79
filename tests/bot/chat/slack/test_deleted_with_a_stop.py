"""A ❌ that was given on a card counts although the card was deleted before it was carried out."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bot.chat.hearing.found import Found
from bot.chat.surface import CardGone, SurfaceFailed
from tests.bot.chat.slack.counted import counting
from tests.bot.chat.slack.test_stops_unanswered import in_window, stopped_after, stops
from tests.bot.chat.slack.test_taken_off_unanswered import anas_tick
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack


async def is_posted_anew(slack: OnSlack, card: Message) -> None:
    slack.world.clock.advance(1)
    await slack.server.deletes(card.ts)
    slack.broadcast.nudge()
    await eventually(lambda: [each for each in slack.cards("p1") if each.ts != card.ts], "anew")
    await eventually_async(slack.nothing_stale, "written down")


async def asked_who_ben_is(slack: OnSlack, before: int) -> None:
    await eventually(lambda: len(slack.server.calls_of("users.info")) > before, "asked once")


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("way", ["emoji", "form"])
async def test_a_stop_that_waited_is_carried_out_although_its_card_was_deleted(
    way: str, restarted: bool
) -> None:
    """Slack did not say who gave it; then it was one on an old card, and the mail was sent."""
    async with on_slack() as slack:
        card = await in_window(slack)
        await slack.settles()
        slack.server.fails("users.info", "status", status=503, times=None)
        if way == "emoji":
            before = len(slack.server.calls_of("users.info"))
            await slack.server.reacts("UBEN", card.ts, "x")
            await asked_who_ben_is(slack, before)
        else:
            await stops(slack, card, way)
        await is_posted_anew(slack, card)
        if restarted:
            await slack.restarts()
        assert await stopped_after(slack, rounds=10)
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"


async def test_a_cross_on_a_card_that_was_replaced_before_stays_one_on_an_old_card() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, proposal_id="p1")
        await slack.settles()
        slack.server.fails("chat.update", error="edit_window_closed", times=None)
        await slack.world.workflow.freeze("so that the card changes", slack.world.sender("ana"))
        await slack.server.presses("UBEN", card, "signoff_approve")
        await eventually(lambda: len(slack.cards("p1")) == 2, "a card of its own")
        await slack.settles()
        slack.world.clock.advance(1)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.settles()
        assert await slack.codes("p1") == ["stale_card"]


async def found_on(slack: OnSlack) -> Message:
    """Return a card with a ❌ by ben that nobody heard."""
    card = await slack.proposes(PROD, proposal_id="p1", approval_class="dual")
    await slack.settles()
    await slack.server.reacts("UBEN", card.ts, "x", heard=False)
    return card


async def reads(slack: OnSlack) -> None:
    slack.world.clock.advance(1)
    slack.hearing.began()
    await slack.broadcast.catch_up()


async def is_rejected(slack: OnSlack) -> bool:
    return (await slack.world.proposal("p1")).state.value == "rejected"


async def test_a_stop_that_was_seen_is_carried_out_although_its_card_goes_while_slack_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The card was read once more behind that, and was gone: so was the ❌."""
    monkeypatch.setattr("bot.chat.slack.reactions._SAID_BEFORE_S", 1.0)
    async with on_slack() as slack:
        card = await found_on(slack)
        slack.server.fails("users.info", "hangs", times=1)
        before = len(slack.server.calls_of("users.info"))
        reading = asyncio.create_task(reads(slack))
        await asked_who_ben_is(slack, before)
        await is_posted_anew(slack, card)
        await reading
        await eventually_async(lambda: is_rejected(slack), "stopped")


async def test_a_stop_that_is_found_waits_a_minute_at_most_until_slack_says_who_gave_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waited for as many limits as Slack set, one after another: for twelve minutes."""
    monkeypatch.setattr("bot.chat.slack.reactions._SAID_BEFORE_S", 0.2)
    async with on_slack() as slack:
        await found_on(slack)
        sleep, passes = slack.world.clock.sleep, asyncio.Event()

        async def limited(seconds: float) -> None:
            await (passes.wait() if seconds == 31 else sleep(seconds))

        monkeypatch.setattr(slack.world.clock, "sleep", limited)
        slack.server.fails("users.info", "ratelimited", retry_after_s=31, times=1)
        reading = asyncio.create_task(reads(slack))
        await eventually_async(lambda: is_rejected(slack), "stopped")
        passes.set()
        await reading


async def found_by(slack: OnSlack) -> Found:
    card = await slack.world.store.read(lambda tx: tx.cards.get("p1", "slack"))
    listening = slack.surface.listening
    assert card is not None
    assert listening is not None
    return await listening.reactions.found(card)


@pytest.mark.parametrize(("other", "windowed"), [("_SAID_S", False), ("_SAID_BEFORE_S", True)])
async def test_slack_has_seconds_to_say_who_stands_on_a_card_in_its_window_and_a_minute_before(
    monkeypatch: pytest.MonkeyPatch, other: str, windowed: bool
) -> None:
    async with on_slack() as slack:
        card = await (in_window(slack) if windowed else slack.proposes(PROD, proposal_id="p1"))
        await slack.settles()
        slack.server.workspace.users["UBEN"].deleted = True
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        monkeypatch.setattr(f"bot.chat.slack.reactions.{other}", 0.0)

        assert [each.id for each in (await found_by(slack)).stopping] == [None]


async def test_slack_that_does_not_say_who_one_is_is_not_asked_about_the_next() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, proposal_id="p1")
        await slack.settles()
        for user in ("UANA", "UBEN"):
            await slack.server.reacts(user, card.ts, heard=False)
        slack.server.fails("users.info", "error", error="fatal_error", times=None)
        before = len(slack.server.calls_of("users.info"))

        with pytest.raises(SurfaceFailed):
            await found_by(slack)

        assert len(slack.server.calls_of("users.info")) == before + 1


async def test_slack_is_asked_about_each_person_under_a_card_once_a_reading() -> None:
    """A card is read until nobody new stands there, and Slack limits what it may be asked."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, proposal_id="p1", approval_class="dual")
        await slack.settles()
        asked = partial(slack.server.calls_of, "users.info")
        for emoji in ("white_check_mark", "thumbsup"):  # nobody new stands there the second time
            await slack.server.reacts("UANA", card.ts, emoji, heard=False)
            before = len(asked())
            found = await found_by(slack)
            assert [each.id for each in found.approving] == ["ana"]
            assert [call.arguments["user"] for call in asked()[before:]] == ["UANA"]


async def test_a_card_that_goes_before_it_is_read_takes_no_approval_back() -> None:
    async with on_slack() as slack:
        card = await anas_tick(slack)
        slack.server.workspace.messages.remove(card)
        with pytest.raises(CardGone):
            await found_by(slack)
        assert await counting(slack) == ["ana"]
