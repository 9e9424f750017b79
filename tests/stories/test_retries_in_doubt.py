"""What a person has tried again is judged as it is now, and ends no doubt about the call before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Reply
from lifecycle.ports import Tool
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import answering, raising
from tests.roads import adopted
from tests.stories.doubtful import (
    DEPLOY,
    SEND,
    UNREACHED,
    dies_while,
    unknown_commit,
    unknown_deployment,
)
from tests.stories.hearing import heard
from tests.world import World, an_unhurried_sentinel


@pytest.fixture
async def unsent(world: World, mail: str) -> str:
    """A mail whose commit is known to have failed, and would fail again."""
    world.tool(SEND).on["commit"] = raising(UNREACHED)
    await world.passes(minutes=15)
    return mail


async def retries(world: World, proposal_id: str) -> Reply:
    """Let ana have it tried again; return what she was answered once it is done."""
    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()
    return reply


async def test_a_retry_that_failed_leaves_the_first_attempt_unknown(world: World) -> None:
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.tool(DEPLOY).on["execute"] = raising(UNREACHED)

    await retries(world, proposal_id)

    stuck = await world.proposal(proposal_id)
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=False)
    assert (await world.proposal(proposal_id)).reason == "did_not_happen"


async def test_who_looks_after_a_second_call_is_told_that_the_first_may_have_happened(
    world: World,
) -> None:
    proposal_id = await unknown_deployment(world)
    first = (await world.proposal(proposal_id)).attention_why
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))

    await retries(world, proposal_id)

    second = (await world.proposal(proposal_id)).attention_why
    key = f"{proposal_id}:execute"
    assert f"Whether execute of {key}:1 happened is unknown" in first
    assert f"Whether execute of {key}:2, or of an attempt before it, happened is unknown" in second


async def test_a_mail_that_may_be_out_is_not_called_unsent(world: World, mail: str) -> None:
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.passes(minutes=15)
    world.tool(SEND).on["commit"] = raising(UNREACHED)

    await retries(world, mail)

    assert (await world.proposal(mail)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_commit_that_is_known_to_have_failed_may_fail_again(
    world: World, unsent: str
) -> None:
    await retries(world, unsent)

    assert (await world.proposal(unsent)).attention is Attention.COMMIT_FAILED


@pytest.mark.parametrize("verb", ["commit", "roll_back"])
async def test_a_retry_that_is_not_called_puts_no_doubt_on_what_is_known_to_have_failed(
    world: World, mail: str, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Its tool may be gone by the time that it is called."""
    world.tool(SEND).on[verb] = raising(UNREACHED)
    if verb == "commit":
        await world.passes(minutes=15)
    else:
        await world.rejects("ana", mail, "wrong amount")
    calls = len(world.tool(SEND).calls)

    def gone(name: str) -> Tool:
        raise KeyError(name)

    with monkeypatch.context() as patched:
        patched.setattr(world.toolbox, "tool", gone)
        await retries(world, mail)

    failed = await world.proposal(mail)
    known = Attention.COMMIT_FAILED if verb == "commit" else Attention.ROLLBACK_INCOMPLETE
    assert failed.attention is known
    assert "Nothing was called" in failed.attention_why
    assert len(world.tool(SEND).calls) == calls


async def test_one_retry_commits_again_over_an_approval_that_was_taken_off_and_is_not_worked(
    world: World, unsent: str
) -> None:
    """That holds nothing up which has begun; the first retry let go of it, and of nothing else."""
    await heard(world, proposal_id=unsent, takes_back=True)
    world.clock.advance(61)
    world.tool(SEND).on["commit"] = answering({})

    await retries(world, unsent)

    assert (await world.proposal(unsent)).state is State.COMPLETED


async def test_a_retry_over_a_cross_that_nobody_could_work_lets_go_of_that_alone(
    world: World, unsent: str
) -> None:
    await heard(world, proposal_id=unsent)
    world.clock.advance(61)
    world.tool(SEND).on["commit"] = answering({})

    reply = await retries(world, unsent)

    assert reply.done
    assert (await world.proposal(unsent)).attention is Attention.COMMIT_FAILED


async def test_what_a_person_settled_is_no_doubt_any_more(world: World, mail: str) -> None:
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.passes(minutes=15)
    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    world.tool(SEND).on["commit"] = raising(UNREACHED)

    await retries(world, mail)
    assert (await world.proposal(mail)).attention is Attention.COMMIT_FAILED
    world.tool(SEND).on["commit"] = answering({})
    await retries(world, mail)

    assert (await world.proposal(mail)).state is State.COMPLETED


@pytest.mark.parametrize("at", ["running", "unknown"])
async def test_a_blocked_tool_is_never_called_to_act_again(world: World, at: str) -> None:
    proposal_id = await dies_while(world, DEPLOY, PROD)
    if at == "unknown":
        world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
        await world.restarts()
    calls = len(world.tool(DEPLOY).calls)
    tools = dict(world.workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], tier=Tier.BLOCK)
    await world.adopts(tools=tools)

    await world.restarts()
    reply = await retries(world, proposal_id)

    assert not reply.done
    assert len(world.tool(DEPLOY).calls) == calls
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


def meanwhile(world: World, act: Callable[[], Awaitable[object]]) -> None:
    """Let something happen while it is read whether the person still is a member."""
    real, happened = world.notifier.lost_members, list[bool]()

    async def lost_members(people: Iterable[str], *, only_certain: bool = False) -> frozenset[str]:
        if not happened:
            happened.append(True)
            await act()
        return await real(people, only_certain=only_certain)

    world.notifier.lost_members = lost_members  # type: ignore[method-assign]


async def test_a_retry_is_judged_by_the_policy_in_force_when_it_begins(world: World) -> None:
    proposal_id = await unknown_deployment(world)
    rules = dict(world.workflow.policy.rules)
    narrower = {"targets": {DEPLOY: ["other.example"], "staging-deploy": ["other.example"]}}
    rules["deploy_target_allowed"] = replace(rules["deploy_target_allowed"], settings=narrower)
    policy = replace(world.workflow.policy, rules=rules, digest="pol1_" + "7" * 64)
    meanwhile(world, lambda: adopted(world.workflow, policy, an_unhurried_sentinel(policy)))

    reply = await retries(world, proposal_id)

    assert reply.code == "deploy_target_allowed"
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_retry_is_judged_by_the_evidence_on_record_when_it_begins(world: World) -> None:
    await world.observes(True)
    precondition = {"evidence_ref": "e1", "field": "ok", "operator": "eq", "value": True}
    proposal_id = await unknown_deployment(world, preconditions=[precondition])
    meanwhile(world, lambda: world.observes(False))

    reply = await retries(world, proposal_id)

    assert reply.code == "preconditions_hold"
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_who_has_left_neither_settles_nor_retries(world: World) -> None:
    proposal_id = await unknown_deployment(world)
    world.notifier.lost = frozenset({"ben"})

    retried = await world.workflow.retry(proposal_id, world.sender("ben"))
    settled = await world.workflow.settle(proposal_id, world.sender("ben"), happened=True)

    assert (retried.code, settled.code) == ("not_a_reviewer", "not_a_reviewer")
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_what_is_done_by_a_retry_can_be_taken_back_for_a_whole_window(world: World) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.passes(minutes=20)
    world.tool(SEND).on.clear()

    await retries(world, proposal_id)
    await world.passes(minutes=14, seconds=59)
    assert world.tool(SEND).verbs() == ["execute", "execute"]

    assert (await world.rejects("ben", proposal_id)).done
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_commit_that_a_person_finds_done_ended_as_it_was_decided_and_not_by_that_person(
    world: World,
) -> None:
    """The window closed unopposed; whoever looked afterwards decided nothing."""
    proposal_id = await unknown_commit(world)

    assert (await world.workflow.settle(proposal_id, world.sender("ben"), happened=True)).done

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert str(ended.decided_by) == "clock clock"


async def test_a_commit_of_which_nothing_tells_who_decided_it_ended_by_whoever_finds_it_done(
    on_disk: World, forged: Any
) -> None:
    proposal_id = await unknown_commit(on_disk)
    forged("UPDATE proposals SET rest = json_remove(rest, '$.execution.cause')")

    assert (await on_disk.workflow.settle(proposal_id, on_disk.sender("ben"), happened=True)).done

    ended = await on_disk.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.COMPLETED, "tool_succeeded")
    assert str(ended.decided_by) == "person ben"
