"""A stop on Slack waits for no note and no answer, and nothing is made final over it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot.chat.commands.commands import Commands
from bot.chat.showing.broadcast import Broadcast, ServedSurface
from bot.chat.showing.delivery import Delivery
from bot.chat.slack.notifier import SlackSurface
from lifecycle.freezing import frozen
from lifecycle.workflow import Workflow
from tests.bot.chat.slack.counted import DEPLOY, mention, state
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.fakes.clock import FakeClock
from tests.fakes.surface import FakeSurface
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

SEND = "send-email"
WINDOW_S = 900


class Beside(FakeSurface):
    """Another surface, which hears."""

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        await asyncio.Event().wait()


def beside(_clock: FakeClock) -> Sequence[ServedSurface]:
    return [Beside("discord")]


async def ends_in(slack: OnSlack, wanted: str) -> None:
    async def there() -> bool:
        await slack.world.workflow.open_ready()
        return await state(slack) == wanted

    await eventually_async(there, wanted)


async def acknowledged(slack: OnSlack, words: str) -> None:
    """Let ben stop by a slash command that Slack is told of, while nobody can say who ben is."""
    slack.server.hold("users.info")
    envelope = await slack.server.slash("UBEN", words)
    await eventually(envelope.acked.is_set, "the acknowledgement")


async def test_a_window_does_not_close_over_a_stop_that_was_acknowledged() -> None:
    async with on_slack() as slack:
        await in_window(slack, typed=True)
        await acknowledged(slack, "roll-back p1 wrong recipient")
        slack.world.clock.advance(WINDOW_S + 1)
        slack.hearing.alive()
        await slack.world.workflow.close_due()
        assert await state(slack) == "executing"
        assert slack.world.tool(SEND).verbs() == ["execute"]
        slack.server.release("users.info")
        await ends_in(slack, "rolled_back")


async def test_nothing_begins_over_a_stop_that_was_acknowledged() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        who = slack.server.fails("users.info", error="internal_error", holding="UBEN", times=None)
        envelope = await slack.server.slash("UBEN", "reject p1 wrong version")
        await eventually(envelope.acked.is_set, "the acknowledgement")
        assert (await slack.world.workflow.approve("p1", slack.world.sender("ana"))).done
        assert slack.world.tool(DEPLOY).verbs() == []
        who.times = 0
        await ends_in(slack, "rejected")
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_nothing_begins_over_a_cross_that_was_acknowledged() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        who = slack.server.fails("users.info", error="internal_error", holding="UBEN", times=None)
        crossed = await slack.server.reacts("UBEN", card.ts, "x")
        assert crossed is not None
        await eventually(crossed.acked.is_set, "the acknowledgement")
        assert (await slack.world.workflow.approve("p1", slack.world.sender("ana"))).done
        assert slack.world.tool(DEPLOY).verbs() == []
        who.times = 0
        await ends_in(slack, "rejected")
        assert slack.world.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("how", ["slash", "emoji", "mention"])
async def test_a_deadline_that_passes_while_slack_is_slow_does_not_decide_for_a_person(
    how: str,
) -> None:
    async with on_slack() as slack:
        now_ms = slack.world.clock.now_ms()
        soon = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 1_000, "max_duration_ms": 1}
        card = await slack.proposes(PROD, time_window=soon)
        who = slack.server.fails("users.info", error="internal_error", holding="UBEN", times=None)
        match how:
            case "slash":
                envelope = await slack.server.slash("UBEN", "reject p1 wrong version")
            case "emoji":
                envelope = await slack.server.reacts("UBEN", card.ts, "x")
            case _:
                words = mention(slack, "reject p1 wrong version")
                _, (envelope, *_) = await slack.server.says("UBEN", words)
        assert envelope is not None
        await eventually(envelope.acked.is_set, "the acknowledgement")
        slack.world.clock.advance(1)
        await slack.world.workflow.expire_due()
        assert await state(slack) == "sentinel_approved"
        who.times = 0
        await ends_in(slack, "rejected")
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"


async def test_a_form_does_not_wait_for_the_note_to_somebody_else() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        for who in ("UCAL", "UBEN"):
            await slack.server.presses(who, card, "signoff_reject")
        await eventually(lambda: len(slack.server.calls_of("views.open")) == 2, "both forms")
        await slack.settles()
        slack.server.hold("chat.postEphemeral")
        for who, call in zip(("UCAL", "UBEN"), slack.server.calls_of("views.open"), strict=True):
            view = {**call.arguments["view"], "id": f"V{who}"}
            await slack.server.submits(who, view, {"reason_text": "wrong version"})
        await ends_in(slack, "rejected")
        slack.server.release("chat.postEphemeral")
        await slack.settles()


async def test_a_freeze_does_not_wait_for_the_answer_to_what_its_operator_asked_before() -> None:
    async with on_slack() as slack:
        slack.server.hold("chat.postMessage")
        await slack.server.says("UANA", mention(slack, "pending"))
        await slack.server.says("UANA", mention(slack, "freeze everything is wrong"))

        async def is_frozen() -> bool:
            return await slack.world.store.read(lambda tx: frozen(tx)) is not None

        await eventually_async(is_frozen, "the freeze")
        slack.server.release("chat.postMessage")
        await slack.settles()


async def test_after_a_restart_no_window_closes_over_a_stop_of_a_platform_that_is_away() -> None:
    async with on_slack(beside=beside) as slack:
        await in_window(slack, typed=True)
        await acknowledged(slack, "roll-back p1 wrong recipient")
        await slack.closes()
        await slack.server.stop()
        await begins_anew(slack)
        slack.world.clock.advance(WINDOW_S + 1)
        await slack.world.workflow.close_due()
        assert await state(slack) == "executing"
        assert slack.world.tool(SEND).verbs() == ["execute"]
        slack.server.held.clear()
        await slack.server.start()
        await slack.hears()
        await ends_in(slack, "rolled_back")


async def begins_anew(slack: OnSlack) -> None:
    """Start a new process over the same store: nothing of the memory is left."""
    assert slack.settings is not None
    slack.surface = SlackSurface(slack.settings)
    slack.broadcast = Broadcast([Beside("discord"), slack.surface])
    await slack.world.restarts()
    world = slack.world.workflow.world
    world.notifier = slack.broadcast
    slack.broadcast.attach(world)
    workflow: Workflow = slack.world.workflow
    slack.serving = asyncio.create_task(slack.broadcast.serve(workflow))


@pytest.mark.parametrize(
    ("emoji", "end"), [("x", "rolled_back"), ("white_check_mark", "completed")]
)
async def test_a_stop_that_is_found_counts_although_slack_does_not_say_who_gave_it(
    emoji: str, end: str
) -> None:
    """Its card elsewhere could be read, and the window closed over it. A ✅ there holds nothing up,
    although it is read nowhere else."""
    async with on_slack(beside=beside if emoji == "x" else lambda _clock: ()) as slack:
        card = await in_window(slack, typed=True)
        slack.server.fails("users.info", times=None)
        await slack.server.reacts("UBEN", card.ts, emoji, heard=False)
        slack.world.clock.advance(WINDOW_S + 1)
        slack.hearing.alive()
        await slack.world.workflow.close_due()
        await slack.world.workflow.idle()
        assert await state(slack) == end


async def test_a_stop_that_is_found_waits_for_no_answer_on_who_else_stands_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slack was waited for once for each of them, and the window closed meanwhile."""
    monkeypatch.setattr("bot.chat.slack.calls._TIMEOUT_S", 0.5)
    monkeypatch.setattr("bot.chat.hearing.card_readings.PATIENCE_S", 0.5)
    monkeypatch.setattr("bot.chat.slack.reactions._SAID_S", 0.2)
    monkeypatch.setattr("bot.chat.slack.notifier._MEMBERSHIP_S", 0.2)
    async with on_slack(beside=beside) as slack:
        card = await in_window(slack, typed=True)
        slack.server.fails("users.info", "hangs", times=None)
        await slack.server.reacts("UANA", card.ts, heard=False)
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        slack.world.clock.advance(WINDOW_S + 1)
        slack.hearing.alive()

        async def is_over() -> bool:
            await slack.world.workflow.close_due()
            await slack.world.workflow.idle()
            return (await slack.world.proposal("p1")).terminal

        await eventually_async(is_over, "its end")
        assert await state(slack) == "rolled_back"


async def test_a_check_mark_that_is_found_waits_until_slack_says_who_gave_it() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        fault = slack.server.fails("users.info", times=None)
        await slack.server.reacts("UANA", card.ts, heard=False)
        slack.hearing.lost("a gap")
        slack.hearing.began()
        await slack.broadcast.catch_up()
        assert fault.seen
        assert await state(slack) == "sentinel_approved"
        assert await slack.codes("p1") == [], "nor is it refused"

        fault.times = 0
        slack.world.clock.advance(60)
        slack.hearing.alive()
        await slack.broadcast.catch_up()
        await ends_in(slack, "completed")
