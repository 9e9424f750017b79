"""Where a workspace lets nobody edit messages, no card and no board lies for ever."""

from __future__ import annotations

import pytest

from tests.bot.chat.slack.counted import DUAL, all_done, counting, state
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown


def under(slack: OnSlack, message: Message) -> list[str]:
    """Return what the bot said in the thread of a message."""
    workspace = slack.server.workspace
    replies = workspace.replies("C0OPS", message.ts)
    return [shown(m) for m in replies if m is not message and m.user == workspace.bot_user]


def boards(slack: OnSlack) -> list[Message]:
    return [m for m in slack.server.workspace.messages if "Signoff: what is open" in shown(m)]


@pytest.mark.parametrize("error", ["edit_window_closed", "cant_update_message"])
async def test_a_card_that_may_not_be_edited_says_that_another_counts(error: str) -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        slack.server.fails("chat.update", error=error, times=None)
        await slack.server.reacts("UANA", first.ts)
        await eventually(lambda: len(slack.cards("p1")) == 2, "a card with the truth")
        (told,) = under(slack, first)
        assert "out of date" in told
        await eventually(lambda: first.reactions == {"white_check_mark": ["UANA"]}, "no seeds")

        second = await slack.card("p1")
        assert "ana" in shown(second)
        await slack.server.presses("UBEN", first, "signoff_approve")
        await slack.settles()
        assert await counting(slack) == ["ana"]
        assert any("It stands here" in hint for hint in slack.hints())


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_card_that_is_found_again_and_may_not_be_edited_is_posted_anew_once(
    restarted: bool,
) -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.workspace.edit_window_closed = True
        slack.server.fails(
            "chat.postMessage", "lost_answer", holding="PROPOSAL from agent", times=2
        )
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await slack.keeps_delivering(lambda: len(slack.cards("p1")) == 2)
        if restarted:
            await slack.restarts()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.settles()
        first, second = slack.cards("p1")
        assert "out of date" in under(slack, first)[0]
        assert (await slack.card_row("p1")).message_ids == (second.ts,)
        await slack.server.reacts("UANA", second.ts)
        await all_done(slack)
        assert slack.world.tool("production-deploy").calls


async def test_a_thread_that_is_locked_keeps_no_card_from_being_posted_anew() -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        slack.server.workspace.edit_window_closed = True
        slack.server.fails(
            "chat.postMessage", error="restricted_action_thread_locked", holding="out of date"
        )
        await slack.server.reacts("UANA", first.ts)
        await eventually(lambda: len(slack.cards("p1")) == 2, "a card with the truth")


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_end_under_a_card_that_may_not_be_edited_is_told_once(restarted: bool) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        slack.server.workspace.edit_window_closed = True
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="end:p1")
        await slack.server.slash("UBEN", "reject p1 no")
        await eventually(lambda: fault.seen, "it is told")
        if restarted:
            await slack.restarts()
        for _ in range(10):
            slack.world.clock.advance(5)
            slack.broadcast.nudge()
            await slack.beats(2)
        await eventually_async(slack.nothing_stale, "written down")
        await all_done(slack)
        ends = [each for each in under(slack, card) if "PROPOSAL" in each or "REJECTED" in each]
        assert len(ends) == 1, under(slack, card)
        assert "USIGNOFF" not in str(card.reactions)


@pytest.mark.parametrize("ahead_s", [0, 7_200, -7_200])
async def test_a_board_that_may_not_be_edited_says_so_and_is_posted_anew_after_an_hour(
    ahead_s: int,
) -> None:
    async with on_slack(opened=False) as slack:
        slack.server.workspace.now_ms = lambda: slack.world.clock.now_ms() + ahead_s * 1000
        await slack.opens()
        first = (await eventually(lambda: boards(slack)))[0]
        await eventually(lambda: first.pinned)
        slack.server.workspace.edit_window_closed = True
        await slack.proposes(PROD)
        await eventually(lambda: under(slack, first), "the board says so")
        assert "not kept current" in under(slack, first)[0]
        await eventually(lambda: "lets nobody edit it" in slack.health(), "status says so")
        slack.surface.desk.board.lost()  # type: ignore[union-attr]
        await slack.beats(10)
        assert (len(boards(slack)), len(under(slack, first))) == (1, 1)

        slack.world.clock.advance(3_601)
        slack.surface.desk.board.lost()  # type: ignore[union-attr]
        await eventually(lambda: len(boards(slack)) == 2, "a new board")
        assert "p1" in shown(boards(slack)[1])
        await eventually(lambda: boards(slack)[1].pinned and not first.pinned, "the new one pinned")


async def not_current(slack: OnSlack) -> Message:
    """Let ana approve a mail, while Slack fails to edit its card; return the card."""
    card = await slack.proposes(MAIL)
    await slack.settles()
    edits = slack.server.fails("chat.update", "status", status=500, times=None)
    await slack.server.reacts("UANA", card.ts)
    await eventually_async(lambda: comes_to(slack, "executing"), "the window")
    await eventually(lambda: edits.seen, "an edit")
    await slack.settles()
    edits.times = 0
    return card


async def comes_to(slack: OnSlack, wanted: str) -> bool:
    await slack.world.workflow.open_ready()
    return await state(slack) == wanted


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_stop_that_nobody_heard_on_a_card_that_is_posted_anew_is_carried_out(
    restarted: bool,
) -> None:
    """From then on it was looked for on the new card alone, and the mail left."""
    async with on_slack() as slack:
        card = await not_current(slack)
        if restarted:
            await slack.closes()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        slack.server.workspace.edit_window_closed = True
        if restarted:
            await slack.restarts()
        await slack.keeps_delivering(lambda: len(slack.cards("p1")) == 2)
        await eventually_async(lambda: comes_to(slack, "rolled_back"), "the mail is taken back")


async def test_a_card_that_can_be_neither_edited_nor_read_is_posted_anew_once_it_was_read() -> None:
    async with on_slack() as slack:
        card = await not_current(slack)
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        slack.server.workspace.edit_window_closed = True
        readings = slack.server.fails("reactions.get", "status", status=503, times=None)
        await slack.keeps_delivering(lambda: readings.seen > 1)
        assert slack.cards("p1") == [card]
        readings.times = 0
        await slack.keeps_delivering(lambda: len(slack.cards("p1")) == 2)
        await eventually_async(lambda: comes_to(slack, "rolled_back"), "the mail is taken back")
