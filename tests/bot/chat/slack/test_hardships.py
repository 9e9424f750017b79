"""Decisions and the bot survive what Slack, a proxy and the store do to them."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import aiohttp
import pytest

from lifecycle import freezing
from lifecycle.proposal import Proposal
from tests.bot.chat.slack.counted import counting
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack

DEPLOY = "production-deploy"


async def passes(slack: OnSlack, seconds: int, every: int = 20) -> None:
    """Let time pass in which the socket goes on answering pings and the job reads every round."""
    for _ in range(seconds // every):
        slack.world.clock.advance(every)
        slack.hearing.alive()
        await slack.beats(2)
        await slack.broadcast.catch_up()


async def closes(slack: OnSlack) -> str:
    await slack.world.workflow.close_due()
    await slack.beats(20)
    return (await p1(slack)).state.value


async def p1(slack: OnSlack) -> Proposal:
    return await slack.world.proposal("p1")


async def nothing_begun(slack: OnSlack) -> None:
    await slack.settles()
    await slack.beats(10)
    assert (await p1(slack)).state.value == "sentinel_approved"
    assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("how", ["put out of the channel", "token revoked"])
async def test_a_window_stays_open_while_its_card_cannot_be_read(how: str) -> None:
    async with on_slack() as slack:
        await in_window(slack)
        if how == "token revoked":
            slack.server.workspace.bot_token = "xoxb-new"
        else:
            slack.server.workspace.channels["C0OPS"].bot_is_member = False
        await passes(slack, 960)
        assert await closes(slack) == "executing"


async def test_a_cross_that_another_process_of_the_app_heard_is_read_before_the_end() -> None:
    async with on_slack() as slack:
        card, sockets = await in_window(slack), slack.server.sockets
        await passes(slack, 880)
        async with aiohttp.ClientSession() as other:
            socket = await other.ws_connect(slack.server.socket_url())
            assert (await socket.receive_json())["num_connections"] == 2
            sockets._turn = itertools.count(1)
            envelope = await slack.server.reacts("UBEN", card.ts, "x")
            assert (await socket.receive_json())["envelope_id"] == envelope.id
            await socket.send_json({"envelope_id": envelope.id})
            await passes(slack, 40)
            assert await closes(slack) != "completed"


async def test_a_check_mark_delivered_again_after_it_was_taken_off_does_not_count() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        given = await slack.server.reacts("UANA", card.ts)
        await slack.beats(5)
        slack.store_fails(False)
        await slack.server.unreacts("UANA", card.ts)
        await slack.beats(10)
        await slack.server.sockets.again(given)
        await nothing_begun(slack)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_check_mark_taken_off_before_it_was_worked_does_not_count(restarted: bool) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.hold("users.info")
        for event in (
            await slack.server.reacts("UANA", card.ts),
            await slack.server.unreacts("UANA", card.ts),
        ):
            await eventually(event.acked.is_set)
        if restarted:
            await slack.closes()
            slack.world.clock.advance(3_600)
        slack.server.release("users.info")
        if restarted:
            await slack.restarts()
        await nothing_begun(slack)


async def test_a_check_mark_taken_off_a_card_that_cannot_be_read_counts_no_more() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ana"]
        slack.server.fails("reactions.get", error="internal_error", times=None)
        await slack.server.unreacts("UANA", card.ts)
        await slack.settles()
        assert await counting(slack) == []


async def test_a_check_mark_taken_off_while_its_card_is_read_does_not_count() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, heard=False)
        slack.hearing.lost("a gap")
        slack.hearing.began()
        slack.server.hold("users.info")
        reading = asyncio.create_task(slack.broadcast.catch_up())
        await eventually(lambda: slack.server.waiting("users.info"))
        await eventually((await slack.server.unreacts("UANA", card.ts)).acked.is_set)
        slack.server.release("users.info")
        await reading
        await nothing_begun(slack)


async def test_a_thaw_kept_over_a_restart_does_not_lift_a_newer_freeze() -> None:
    async with on_slack() as slack:
        policy = slack.world.workflow.policy
        one = min(policy.group("operators"))
        user = policy.people[one].accounts["slack"].partition("/")[2]
        await slack.world.workflow.freeze("first", slack.world.sender(one))
        await slack.beats(10)
        slack.server.hold("chat.postMessage")
        await slack.server.says(user, f"<@{slack.server.workspace.bot_user}> thaw")
        await slack.beats(20)
        assert await slack.world.store.read(freezing.frozen) is None
        await slack.closes()
        slack.server.release("chat.postMessage")
        await slack.world.workflow.freeze("breach", slack.world.sender(one))
        await slack.restarts()
        await slack.settles()
        assert await slack.world.store.read(freezing.frozen) is not None


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "error", "error": "restricted_action_thread_locked"},
        {"kind": "status", "status": 503},
    ],
)
async def test_an_answer_that_slack_never_takes_keeps_no_command_waiting(
    fault: dict[str, Any],
) -> None:
    async with on_slack() as slack:
        await in_window(slack)
        slack.server.fails("chat.postMessage", times=None, **fault)
        await slack.server.says("UBEN", f"<@{slack.server.workspace.bot_user}> pending")
        await slack.beats(10)
        await slack.server.slash("UBEN", "reject p1 wrong recipient")
        await slack.stands("p1", "executing")
        await slack.beats(50)
        assert (await p1(slack)).state.value == "rolled_back"


async def test_a_card_that_was_posted_and_not_written_down_is_found_again() -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.hold("chat.postMessage")
        raw = slack.bytes_of(slack.document(PROD, proposal_id="p1"))
        await slack.world.workflow.submit(raw, slack.leila())
        await eventually(lambda: slack.claimed("p1"))
        slack.store_fails(True)
        slack.server.release("chat.postMessage")
        await eventually(lambda: slack.cards("p1"))
        await slack.beats(10)
        slack.store_fails(False)
        slack.broadcast.nudge()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.beats(10)
        assert len(slack.cards("p1")) == 1


async def test_a_cross_is_kept_although_an_answer_of_slack_is_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        client = slack.surface.desk.web.client  # type: ignore[union-attr]
        real, odd = client.users_info, [True]

        async def users_info(**given: Any) -> Any:
            """Do what the SDK does over a page of words that some proxy sends with a 200."""
            if odd:
                odd.clear()
                return "down for maintenance".get("ok")  # type: ignore[attr-defined]
            return await real(**given)

        monkeypatch.setattr(client, "users_info", users_info)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.beats(30)
        assert (await p1(slack)).state.value == "rolled_back"


async def test_an_app_token_that_is_refused_later_does_not_end_the_bot() -> None:
    async with on_slack() as slack:
        await slack.beats(10)
        slack.server.fails("apps.connections.open", "error", error="invalid_auth", times=3)
        await slack.server.sockets.drop()
        await eventually(lambda: slack.server.sockets.opened >= 2, "a fresh connection")
        assert slack.serving is not None
        assert not slack.serving.done()


async def test_words_that_an_app_wrote_in_a_persons_name_decide_nothing() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        workspace = slack.server.workspace
        ts = workspace.new_ts()
        workspace.messages.append(Message("C0OPS", ts, "UANA", "x"))
        event = {"type": "message", "user": "UANA", "bot_id": "BAGENT", "app_id": "A9"}
        place = {"ts": ts, "event_ts": ts, "channel": "C0OPS", "team": "T1"}
        text = f"<@{workspace.bot_user}> approve p1"
        await slack.server.event(event | place | {"text": text})
        await nothing_begun(slack)


@pytest.mark.parametrize("heard", [True, False])
async def test_a_card_deleted_from_over_its_thread_is_posted_again(*, heard: bool) -> None:
    async with on_slack() as slack:
        card, workspace = await slack.proposes(PROD), slack.server.workspace
        card.subtype, card.blocks = "tombstone", []
        tombstone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": card.ts}
        event = {"type": "message", "subtype": "message_changed", "channel": "C0OPS"}
        times = {"ts": workspace.new_ts(), "event_ts": workspace.new_ts()}
        if heard:
            await slack.server.event(event | times | {"message": tombstone})
        else:
            slack.hearing.lost("a gap")
            slack.hearing.began()
            await slack.broadcast.catch_up()
        await eventually(lambda: slack.cards("p1"), "a card again")


async def test_a_typed_stop_is_kept_where_the_store_cannot_be_written() -> None:
    async with on_slack() as slack:
        await in_window(slack)
        slack.store_fails(True)
        bot = slack.server.workspace.bot_user
        await slack.server.says("UBEN", f"<@{bot}> roll-back p1 wrong recipient")
        await slack.beats(20)
        assert {stop["id"] for stop in slack.world.spool.kept()} == {"ben"}
        slack.store_fails(False)


def test_the_ticket_of_a_socket_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    from bot.chat.slack.sdk import library_log

    library_log().error("Failed to connect (url='wss://x.example/?ticket=SECRET&app_id=x')")
    assert "SECRET" not in caplog.text
    assert "app_id=x" in caplog.text
