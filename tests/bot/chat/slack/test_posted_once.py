"""What Slack took is posted once, whatever became of its answer and of the process that asked."""

from __future__ import annotations

import pytest

from tests.bot.chat.slack.counted import DUAL, mention
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown

CALL = "<!subteam^SAPPROVERS>"
GROUPS = {"usergroups": {"approvers": "SAPPROVERS"}}


def calls(slack: OnSlack) -> list[str]:
    """Return each message by whose posting the reviewers' group was called; edits call nobody."""
    posted = slack.server.calls_of("chat.postMessage")
    took = [call for call in posted if call.failed != "error"]
    return [str(call.arguments) for call in took if CALL in str(call.arguments)]


def boards(slack: OnSlack) -> list[Message]:
    return [m for m in slack.server.workspace.messages if "Signoff: what is open" in shown(m)]


async def changed(slack: OnSlack) -> None:
    """Let the card of p1 be edited while it still waits for somebody."""
    card = await slack.card("p1")
    await slack.settles()
    edits = card.edits
    await slack.server.reacts("UANA", card.ts)
    await eventually(lambda: card.edits > edits, "an edit")
    await eventually_async(slack.nothing_stale, "written down")
    await slack.settles()


@pytest.mark.parametrize("ahead_s", [0, -7_200, 10**8, -(10**8)])
async def test_a_card_whose_answer_was_lost_calls_its_people_once(ahead_s: int) -> None:
    async with on_slack(**GROUPS) as slack:
        slack.server.workspace.now_ms = lambda: slack.world.clock.now_ms() + ahead_s * 1000
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1", **DUAL)
        await slack.server.proposes("ULEILA", document)
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await changed(slack)
        assert len(slack.cards("p1")) == 1
        assert len(calls(slack)) == 1


async def test_people_who_were_called_before_the_process_ended_are_not_called_by_the_next() -> None:
    async with on_slack(**GROUPS) as slack:
        await slack.beats(5)
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1", **DUAL)
        await slack.server.proposes("ULEILA", document)
        await eventually(lambda: fault.times == 0)
        await slack.restarts()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await changed(slack)
        assert len(slack.cards("p1")) == 1
        assert len(calls(slack)) == 1


async def test_a_card_found_again_that_called_nobody_calls_once_somebody_is_needed() -> None:
    async with on_slack(**GROUPS) as slack:
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1", **DUAL)
        slack.surface.desk.calling._groups = {}  # type: ignore[union-attr]
        await slack.server.proposes("ULEILA", document)
        await eventually(lambda: slack.cards("p1"))
        slack.surface.desk.calling._groups = GROUPS["usergroups"]  # type: ignore[union-attr]
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await changed(slack)
        assert len(calls(slack)) == 1


async def test_a_card_that_slack_takes_in_its_shortest_form_alone_calls_its_people_later() -> None:
    async with on_slack(**GROUPS) as slack:
        slack.server.fails(
            "chat.postMessage", error="invalid_blocks", holding="PROPOSAL from agent"
        )
        await slack.proposes(PROD, **DUAL)
        assert calls(slack) == []
        await changed(slack)
        assert len(calls(slack)) == 1


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_board_whose_answer_was_lost_is_not_posted_again(restarted: bool) -> None:
    async with on_slack(opened=False) as slack:
        slack.server.fails("chat.postMessage", "lost_answer", holding="what is open")
        await slack.opens()
        await eventually(lambda: boards(slack))
        if restarted:
            await slack.restarts()
        await slack.proposes(PROD)
        await eventually(lambda: any(m.pinned for m in boards(slack)), "the board is pinned")
        (board,) = boards(slack)
        await eventually(lambda: "p1" in shown(board), "the board is current")


async def test_a_board_that_a_moderator_deleted_is_posted_anew() -> None:
    async with on_slack() as slack:
        first = (await eventually(lambda: boards(slack)))[0]
        await eventually(lambda: first.pinned)
        await slack.beats(2)
        await slack.server.deletes(first.ts)
        await eventually(lambda: boards(slack), "a new board")


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_announcement_whose_answer_was_lost_is_said_once(restarted: bool) -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="breach")
        await slack.world.workflow.freeze("breach", slack.world.sender("ana"))
        await eventually(lambda: fault.times == 0)
        if restarted:
            await slack.restarts()
        await slack.keeps_delivering(lambda: len(slack.server.calls_of("chat.postMessage")))
        for _ in range(10):
            slack.world.clock.advance(5)
            slack.broadcast.nudge()
            await slack.beats(2)
        await eventually_async(lambda: nothing_unsaid(slack), "noted as said")
        assert len(slack.said("breach")) == 1


async def nothing_unsaid(slack: OnSlack) -> bool:
    far = slack.world.clock.now_ms() + 10**12
    return not await slack.world.store.read(lambda tx: tx.outbox.waiting("slack", far, 10))


async def test_an_answer_that_a_former_process_gave_is_not_given_again() -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        fault = slack.server.fails("chat.postMessage", "unanswered", holding='"proposal_id"')
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: fault.times == 0 and slack.answers())
        await slack.restarts()
        await slack.settles()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len([a for a in slack.answers() if a["proposal_id"] == "p1"]) == 1


async def test_a_call_under_a_card_whose_answer_was_lost_is_made_once() -> None:
    async with on_slack(**GROUPS) as slack:
        slack.surface.desk.calling._groups = {}  # type: ignore[union-attr]
        await slack.proposes(PROD, **DUAL)
        slack.surface.desk.calling._groups = GROUPS["usergroups"]  # type: ignore[union-attr]
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="subteam")
        await slack.server.reacts("UANA", slack.cards("p1")[0].ts)
        await eventually(lambda: fault.times == 0, "a call")
        await slack.restarts()
        for _ in range(10):
            slack.world.clock.advance(5)
            slack.broadcast.nudge()
            await slack.beats(2)
        await eventually_async(slack.nothing_stale, "written down")
        assert len(calls(slack)) == 1


async def test_a_reminder_in_a_thread_is_looked_for_there() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="rejected")
        await slack.server.says("UBEN", mention(slack, "reject p1 no"))
        await eventually(lambda: fault.times == 0)
        await slack.restarts()
        for _ in range(10):
            slack.world.clock.advance(5)
            slack.broadcast.nudge()
            await slack.beats(2)
        await eventually_async(lambda: nothing_unsaid(slack), "noted as said")
        ends = [a for a in slack.answers() if a["state"] == "rejected" and a.get("proposal_id")]
        assert len(ends) == 1


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_card_posted_again_whose_answer_is_lost_stands_there_once(restarted: bool) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        await slack.server.deletes(card.ts)
        await eventually(lambda: fault.times == 0, "posted again, its answer lost")
        if restarted:
            await slack.restarts()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len(slack.cards("p1")) == 1


async def test_a_card_on_which_somebody_decides_is_looked_for_at_once_whatever_pause_it_had() -> (
    None
):
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1")
        await slack.server.proposes("ULEILA", document)
        card = await eventually(lambda: next(iter(slack.cards("p1")), None), "the card")
        await slack.server.reacts("UBEN", card.ts, "x")
        await eventually(lambda: "USIGNOFF" in card.reactions["x"], "found")
        await eventually_async(slack.nothing_stale, "written down")
        await slack.keeps_catching_up()
        await eventually(lambda: "rejected" in shown(card), "the stop")
        assert len(slack.cards("p1")) == 1


@pytest.mark.parametrize("says", [{}, {"ts": None}, {"ts": 7}, {"ts": "now"}])
async def test_a_card_of_which_slack_does_not_say_where_it_stands_is_looked_for(
    says: dict[str, object],
) -> None:
    """Its row named a message that does not exist: a ❌ on the real one stopped nothing."""
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "vague", says=says, holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1")
        await slack.server.proposes("ULEILA", document)
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        (card,) = slack.cards("p1")
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")
