"""No stop given on Slack is lost while nothing can be stored; nothing else is acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.chat.slack.counted import DEPLOY, reviews
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
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
        await slack.world.workflow.stop(1.0)
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
