"""No stop given on Slack is lost while nothing can be stored; nothing else is acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.chat.slack.counted import DEPLOY, reviews
from tests.bot.chat.slack.windows import in_window
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.sockets import Envelope
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack


async def acknowledged(envelope: Any) -> None:
    assert isinstance(envelope, Envelope)
    await eventually(envelope.acked.is_set, "acknowledging")


async def kept_and_carried_out(slack: OnSlack, end: str, reason: str) -> None:
    """See ben's stop held while nothing can be stored, and carried out as soon as it can be."""
    await eventually(lambda: slack.world.spool.kept(), "the stop in the spool")
    assert slack.world.workflow.world.held == {"p1"}
    slack.store_fails(False)
    await slack.world.workflow.recover()
    await slack.stands("p1", end)
    stopped = (await reviews(slack))[-1]
    assert (stopped.person, stopped.reason) == ("ben", reason)


@pytest.mark.parametrize("word", ["reject", "roll-back"])
async def test_a_slash_command_that_stops_is_kept_while_the_store_cannot_be_written(
    word: str,
) -> None:
    async with on_slack() as slack:
        await in_window(slack)
        slack.store_fails(True)
        await acknowledged(await slack.server.slash("UBEN", f"{word} p1 wrong recipient"))
        await kept_and_carried_out(slack, "rolled_back", "wrong recipient")


async def test_a_reject_button_and_its_form_are_kept_while_the_store_cannot_be_written() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        await acknowledged(await slack.server.presses("UBEN", card, "signoff_reject"))
        (form,) = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
        view = form.arguments["view"] | {"id": "V1"}
        sent = await slack.server.submits("UBEN", view, {"reason_text": "wrong version"})
        await acknowledged(sent)
        await kept_and_carried_out(slack, "rejected", "wrong version")
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("how", ["a slash command", "a message"])
async def test_a_freeze_is_kept_and_in_force_while_the_store_cannot_be_written(how: str) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        slack.store_fails(True)
        match how:
            case "a slash command":
                await acknowledged(await slack.server.slash("UANA", "freeze breach"))
            case _:
                _, (heard, *_) = await slack.server.says("UANA", "<@USIGNOFF> freeze breach")
                await acknowledged(heard)
        await eventually(lambda: slack.world.spool.kept(), "the freeze in the spool")
        slack.store_fails(False)
        await slack.world.approves("ben", "p1")
        await slack.world.workflow.idle()

        await slack.world.workflow.recover()

        frozen = await slack.world.store.read(lambda tx: tx.flags.get("freeze"))
        assert (frozen["reason"], frozen["by"]) == ("breach", "ana")
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("text", ["freeze breach", "reject p1 wrong version"])
async def test_a_stop_that_was_acknowledged_holds_and_is_kept_once_slack_says_whose_it_is(
    text: str,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        slack.store_fails(True)
        unread = slack.server.fails("users.info", "error", times=None)
        await acknowledged(await slack.server.slash("UANA", text))
        await eventually(lambda: slack.server.calls_of("users.info")[1:], "asked in vain")
        held = slack.world.workflow.world.heard.of("p1")

        unread.times = 0

        (kept,) = await eventually(slack.world.spool.kept, "the stop in the spool")
        assert (len(held), kept["id"], kept["at_ms"]) == (1, "ana", held[0].at_ms)


async def test_a_stop_that_was_acknowledged_outlives_the_process_once_the_store_is_back() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        slack.store_fails(True)
        unread = slack.server.fails("users.info", "error", times=None)
        await acknowledged(await slack.server.slash("UANA", "reject p1 wrong version"))
        await eventually(lambda: slack.server.calls_of("users.info")[1:], "asked in vain")
        slack.store_fails(False)
        kept = slack.world.workflow.world.store.read
        await eventually_async(lambda: _is_in_the_inbox(kept), "the stop on disk")
        await slack.world.workflow.shut_down(1.0)
        unread.times = 0
        await slack.restarts()

        await slack.stands("p1", "rejected")
        assert [each.person for each in await reviews(slack)] == ["ana"]


async def _is_in_the_inbox(read: Any) -> bool:
    return bool(await read(lambda tx: tx.flags.get("inbox:slack")))


@pytest.mark.parametrize("text", ["approve p1", "pending", "thaw"])
async def test_no_other_slash_command_is_acknowledged_while_the_store_cannot_be_written(
    text: str,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        other = await slack.server.slash("UBEN", text)
        pressed = await slack.server.presses("UBEN", card, "signoff_approve")
        await acknowledged(await slack.server.slash("UBEN", "reject p1 wrong version"))
        await kept_and_carried_out(slack, "rejected", "wrong version")
        assert not other.acked.is_set()
        assert not pressed.acked.is_set()
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize(
    ("who", "text", "end"),
    [
        ("UANA", "", "rejected"),
        ("UANA", "reject p1 wrong version", "rejected"),
        ("UANA", "freeze breach", "sentinel_approved"),
        ("ULEILA", "withdraw p1", "rejected"),
    ],
    ids=["a ❌", "reject", "freeze", "withdraw"],
)
async def test_what_stops_holds_until_slack_says_whose_it_is_although_it_could_not_be_stored(
    who: str, text: str, end: str
) -> None:
    """Slack delivers again what was not acknowledged, and takes minutes for that: what was stopped
    began as soon as the store was back."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        unread = slack.server.fails("users.info", "error", times=None)
        if text:
            await slack.server.says(who, f"<@USIGNOFF> {text}", both=False)
        else:
            await slack.server.reacts(who, card.ts, "x")
        await eventually(lambda: unread.seen > 1, "asked again in vain")
        slack.store_fails(False)
        await slack.world.approves("ben", "p1")
        await slack.world.workflow.open_ready()
        assert slack.world.tool(DEPLOY).calls == []

        unread.times = 0
        await slack.stands("p1", end)
        assert slack.world.tool(DEPLOY).calls == []


async def test_an_agent_is_told_that_nothing_was_withdrawn_while_nothing_can_be_stored() -> None:
    """Nobody answered it, and what it had withdrawn began before Slack delivered that again."""
    async with on_slack() as slack:
        await slack.proposes(PROD)
        slack.store_fails(True)
        _, (heard, *_) = await slack.server.says("ULEILA", "<@USIGNOFF> withdraw p1")
        await acknowledged(heard)
        await eventually(lambda: slack.said("nothing was done"), "the answer")


async def test_however_often_an_emoji_is_put_there_one_is_tried_while_nothing_can_be_stored() -> (
    None
):
    """Each was tried every other second, for hours, a stranger's too."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        unread = slack.server.fails("users.info", "error", times=None)
        for number in range(10):
            await slack.server.reacts("UBEN", card.ts, "x")
            await slack.server.unreacts("UBEN", card.ts, "x")
            await slack.server.reacts(f"USTRANGE{number}", card.ts)
            await slack.server.unreacts(f"USTRANGE{number}", card.ts)
        await eventually(lambda: unread.seen > 1, "asked in vain")
        heard = slack.world.workflow.world.heard
        await eventually(lambda: len(heard.of("p1")) == 1, "one is tried")
        slack.store_fails(False)
        unread.times = 0
        await slack.stands("p1", "rejected")


async def test_no_reason_waits_behind_that_of_a_stop_which_nobody_can_carry_out() -> None:
    async with on_slack() as slack:
        waits, rejected = await slack.proposes(PROD), await slack.proposes(MAIL)
        slack.store_fails(True)
        await slack.server.reacts("UANA", waits.ts, "x")
        await eventually(lambda: slack.world.spool.kept(), "the stop in the spool")
        slack.store_fails(False)  # the spool is not replayed, as where its row is refused
        await slack.server.says("UANA", "the first reason", thread_ts=waits.ts)
        await slack.server.reacts("UANA", rejected.ts, "x")
        await slack.stands("p2", "rejected")
        await slack.server.says("UANA", "the second reason", thread_ts=rejected.ts)

        async def explained() -> bool:
            found = await slack.world.store.read(lambda tx: tx.proposals.get("p2"))
            return found is not None and found.explanation == "the second reason"

        await eventually_async(explained, "explained")
