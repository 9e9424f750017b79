"""CONFIRM: people only, one or more; the tool runs once and the trail says who."""

from __future__ import annotations

import asyncio

from lifecycle.moment import clock_words
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import PROD
from tests.fakes.tools import answering, raising, waiting_for
from tests.world import World

TOOL = "production-deploy"


async def test_a_deployment_waits_for_a_person_and_completes(world: World) -> None:
    answer = await world.submits(PROD)
    assert answer.state == "sentinel_approved"

    reply = await world.approves("ana", answer.proposal_id or "")

    done = await world.proposal(answer.proposal_id or "")
    assert reply.done
    assert (done.state, done.reason) == (State.COMPLETED, "tool_succeeded")
    assert world.tool(TOOL).verbs() == ["execute"]
    assert await world.trail("p1") == [
        "submitted",
        "sentinel_approve",
        "reviewed",
        "execute",
        "complete",
    ]


async def test_two_people_must_approve_a_dual_proposal(world: World) -> None:
    answer = await world.submits(PROD, approval_class="dual")
    await world.approves("ana", answer.proposal_id or "")
    again = await world.approves("ana", answer.proposal_id or "")
    assert again.code == "already_counted"
    assert world.tool(TOOL).calls == []

    await world.approves("ben", answer.proposal_id or "")

    assert world.tool(TOOL).verbs() == ["execute"]


async def test_whoever_approves_is_told_how_many_did_and_who_has_opened_it(world: World) -> None:
    await world.workflow.freeze("a moment", world.sender("ana"))
    await world.submits(PROD, approval_class="dual")

    told = [(await world.approves(name, "p1")).words for name in ("ana", "ben", "dee")]

    still = " It waits for: thaw, for everything is frozen."
    assert told == [
        "Approved by ana: 1 of 2.",
        f"Approved by ben: 2 of 2.{still}",
        f"Approved by dee too; person ben was first and has opened it.{still}",
    ]


async def test_an_approval_can_be_taken_back_before_the_quorum(world: World) -> None:
    answer = await world.submits(PROD, approval_class="dual")
    await world.approves("ana", answer.proposal_id or "")
    await world.workflow.take_back(answer.proposal_id or "", world.sender("ana"))

    await world.approves("ben", answer.proposal_id or "")

    assert world.tool(TOOL).calls == []


async def test_a_rejection_ends_it_with_its_reason(world: World) -> None:
    answer = await world.submits(PROD, task_id="t9")

    await world.rejects("ben", answer.proposal_id or "", "not on a Monday")

    ended = await world.proposal(answer.proposal_id or "")
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t9"))
    assert (ended.state, ended.reason) == (State.REJECTED, "rejected_by_person")
    assert task is not None
    assert (task.state, task.explanation) == ("backlog", "not on a Monday")
    assert (await world.approves("ana", answer.proposal_id or "")).code == "already_decided"


async def test_whoever_comes_too_late_is_told_who_decided_what_and_when(world: World) -> None:
    await world.submits(PROD)
    world.clock.advance(600)
    await world.rejects("ben", "p1", "not on a Monday")
    when = clock_words((await world.proposal("p1")).decided_at_ms or 0)
    world.clock.advance(600)

    told = (await world.approves("ana", "p1")).words

    decision = "rejected (rejected_by_person) by person ben"
    assert told == f"Already decided: {decision}, {when}. not on a Monday"


async def test_a_task_that_is_done_by_now_does_not_go_back_for_the_words_behind_an_older_end(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="refused", task_id="t9")
    await world.reacts("ana", "refused", "❌")
    await world.submits(PROD, proposal_id="better", task_id="t9", parameters={"version": "v43"})
    await world.approves("ben", "better")

    assert (await world.workflow.give_reason("refused", world.sender("ana"), "v42 is old")).done

    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t9"))
    assert task is not None
    assert (task.state, task.proposal_id, task.explanation) == ("done", "better", "")
    assert (await world.proposal("refused")).explanation == "v42 is old"


async def test_a_tool_that_failed_and_left_nothing_ends_rolled_back(world: World) -> None:
    world.tool(TOOL).on["execute"] = raising(ToolFailed("no such version"))
    answer = await world.submits(PROD)

    await world.approves("ana", answer.proposal_id or "")

    ended = await world.proposal(answer.proposal_id or "")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "tool_failed")


async def test_an_unknown_outcome_waits_for_a_person_and_is_never_repeated(world: World) -> None:
    world.tool(TOOL).on["execute"] = raising(RuntimeError("secret-in-message"))
    answer = await world.submits(PROD)
    await world.approves("ana", answer.proposal_id or "")
    stuck = await world.proposal(answer.proposal_id or "")
    assert stuck.attention is Attention.OUTCOME_UNKNOWN
    assert "secret-in-message" not in stuck.attention_why
    await world.restarts()
    await world.passes(minutes=60)
    assert world.tool(TOOL).verbs() == ["execute"]

    refused = await world.workflow.settle("p1", world.sender("cal"), happened=True)
    reply = await world.workflow.settle("p1", world.sender("ben"), happened=True)

    assert refused.code == "not_a_reviewer"
    assert reply.done
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_what_did_not_happen_ends_rolled_back(world: World) -> None:
    world.tool(TOOL).on["execute"] = raising(RuntimeError())
    answer = await world.submits(PROD)
    await world.approves("ana", answer.proposal_id or "")

    await world.workflow.settle(answer.proposal_id or "", world.sender("ben"), happened=False)

    ended = await world.proposal(answer.proposal_id or "")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "did_not_happen")


async def test_a_cross_while_a_tool_without_window_runs_changes_nothing(world: World) -> None:
    gate = asyncio.Event()
    world.tool(TOOL).on["execute"] = waiting_for(gate)
    answer = await world.submits(PROD)
    await world.workflow.approve(answer.proposal_id or "", world.sender("ana"))

    reply = await world.workflow.reject(answer.proposal_id or "", world.sender("ben"), "stop")
    gate.set()
    await world.workflow.idle()

    assert reply.code == "window_closed"
    assert (await world.proposal(answer.proposal_id or "")).state is State.COMPLETED


async def test_what_goes_beyond_the_envelope_is_marked_where_nothing_can_be_undone(
    world: World,
) -> None:
    envelope = {
        "allowed_side_effects": ["deploy"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    world.tool(TOOL).on["execute"] = answering({"affected_records": 7})
    answer = await world.submits(PROD, risk_envelope=envelope)
    await world.approves("ana", answer.proposal_id or "")

    marked = await world.proposal(answer.proposal_id or "")
    assert (marked.state, marked.attention) == (State.COMPLETED, Attention.ENVELOPE_EXCEEDED)
    await world.workflow.settle(answer.proposal_id or "", world.sender("ana"), happened=True)
    assert (await world.proposal(answer.proposal_id or "")).attention is None


async def test_a_stranger_and_the_proposer_decide_nothing(world: World) -> None:
    answer = await world.submits(PROD)

    codes = [
        (await world.approves(name, answer.proposal_id or "")).code
        for name in ("cal", "leila", "olga", "nobody")
    ]

    assert codes == ["not_a_reviewer", "own_proposal", "not_a_reviewer", "not_a_reviewer"]
    assert len(await world.audit("ignored")) == 4
