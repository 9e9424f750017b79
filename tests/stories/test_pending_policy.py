"""A new policy, or somebody who writes there, comes between admission and verdict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import ActionType, ApprovalClass, Policy
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.world import Law
from sentinel_rules import load_rules
from tests.builders import MAIL, a_document, a_tool
from tests.roads import adopted
from tests.stories.forging import problems, refused
from tests.world import World

NOTE = "take-note"
#: Too long to be judged in the write that takes it in.
LONG = MAIL | {
    "tool": NOTE,
    "action_type": "write",
    "parameters": {"note": "hello " * 1000},
}
Change = Callable[[Policy], Policy]


def without_role(policy: Policy) -> Policy:
    leila = replace(policy.agents["leila"], roles=frozenset({"reader"}))
    return replace(policy, agents={**policy.agents, "leila": leila})


def without_agent(policy: Policy) -> Policy:
    return replace(policy, agents={k: v for k, v in policy.agents.items() if k != "leila"})


def with_tool(**changes: Any) -> Change:
    def changed(policy: Policy) -> Policy:
        tool = replace(policy.tools[NOTE], **changes)
        return replace(policy, tools={**policy.tools, NOTE: tool})

    return changed


OUT_OF_REACH = with_tool(quorum_class=ApprovalClass.THRESHOLD, quorum_required=9)
NARROWED = with_tool(parameters={"type": "object", "maxProperties": 0})
ENDS = pytest.mark.parametrize("change", [without_role, without_agent, OUT_OF_REACH, NARROWED])


@pytest.fixture
async def stage(world: World) -> World:
    """A world in which leila takes notes, judged by nobody but Sentinel."""
    await takes_notes(world, Tier.AUTO)
    return world


async def takes_notes(world: World, tier: Tier, **changes: Any) -> None:
    tool = a_tool(NOTE, tier, ActionType.WRITE, **changes)
    await world.adopts(tools={**world.workflow.policy.tools, NOTE: tool})


def the_law(world: World, change: Change) -> Law:
    policy = replace(change(world.workflow.policy), digest="pol1_" + "9" * 64)
    return Law(policy, Sentinel(load_rules(policy.rules)))


async def is_left_pending(world: World, monkeypatch: pytest.MonkeyPatch, proposal_id: str) -> None:
    """Take a document in, and let the process end before Sentinel answers."""

    taken_in = asyncio.Event()

    async def never(_self: Gatekeeper, *_what: Any, **_how: Any) -> Any:
        taken_in.set()
        await asyncio.Event().wait()

    document = a_document(LONG, proposal_id=proposal_id, ts_ms=world.clock.now_ms())
    with monkeypatch.context() as patched:
        patched.setattr(Gatekeeper, "gate", never)
        patched.setattr(world.workflow.intake.gatekeeper, "gating", {proposal_id})
        sender = world.sender("leila")
        asked = asyncio.create_task(world.workflow.submit(json.dumps(document).encode(), sender))
        async with asyncio.timeout(30):
            await taken_in.wait()
        for task in (asked, *world.workflow.world.background.tasks):
            task.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    assert (await world.proposal(proposal_id)).state is State.PENDING
    world.clock.advance(10)


async def is_in_force_unchecked(world: World, law: Law) -> None:
    """Put a law in force; that what is open is checked again comes after."""
    await world.workflow.adopter.take_policy(law, announced=True)
    world.workflow.world.law = law


async def ended(world: World, proposal_id: str) -> None:
    proposal = await world.proposal(proposal_id)
    assert (proposal.state, proposal.reason) == (State.REJECTED, "policy_changed")
    assert world.tool(NOTE).calls == []


@ENDS
async def test_what_could_not_be_asked_for_any_more_ends_at_the_check_before_its_verdict(
    stage: World, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    await is_left_pending(stage, monkeypatch, "x")
    law = the_law(stage, change)

    await adopted(stage.workflow, law.policy, law.sentinel)
    await stage.workflow.recover()
    await stage.workflow.idle()

    await ended(stage, "x")


@ENDS
async def test_what_could_not_be_asked_for_any_more_ends_where_its_verdict_comes_first(
    stage: World, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    await is_left_pending(stage, monkeypatch, "x")
    await is_in_force_unchecked(stage, the_law(stage, change))

    await stage.workflow.recover()
    await stage.workflow.idle()

    await ended(stage, "x")


@ENDS
@pytest.mark.parametrize("checked_again", [True, False])
async def test_what_is_being_judged_while_a_policy_comes_is_asked_for_anew(
    stage: World, monkeypatch: pytest.MonkeyPatch, change: Change, checked_again: bool
) -> None:
    law, real, came = the_law(stage, change), Gatekeeper._verdict, []

    async def verdict(self: Gatekeeper, *args: Any) -> Any:
        found = await real(self, *args)
        if not came:
            came.append(True)
            await is_in_force_unchecked(stage, law)
            if checked_again:
                await stage.workflow.recheck()
        return found

    monkeypatch.setattr(Gatekeeper, "_verdict", verdict)
    answer = await stage.submits(LONG, proposal_id="x")

    assert (answer.state, answer.reason) == ("rejected", "policy_changed")
    await ended(stage, "x")


async def test_what_may_still_be_asked_for_goes_on_under_the_new_policy(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_left_pending(stage, monkeypatch, "x")
    await is_in_force_unchecked(stage, the_law(stage, with_tool(timeout_s=7)))

    await stage.workflow.recover()
    await stage.workflow.idle()

    done = await stage.proposal("x")
    assert (done.state, done.reason) == (State.COMPLETED, "tool_succeeded")
    assert done.policy_digest == stage.workflow.policy.digest


async def test_an_approval_does_not_stand_for_a_tool_that_can_take_nothing_back_any_more(
    on_disk: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await takes_notes(on_disk, Tier.CONFIRM, reversible=True, window_s=600)
    await is_left_pending(on_disk, monkeypatch, "x")
    await on_disk.shows()
    await on_disk.approves("ana", "x")
    await is_in_force_unchecked(on_disk, the_law(on_disk, with_tool(reversible=False, window_s=0)))

    await on_disk.workflow.recover()
    await on_disk.workflow.idle()

    waits = await on_disk.proposal("x")
    assert (waits.state, waits.opener, waits.window_s) == (State.SENTINEL_APPROVED, None, 0)
    assert await problems(on_disk) == []
    await on_disk.shows()
    await on_disk.approves("ben", "x")
    assert on_disk.tool(NOTE).verbs() == ["execute"]
    assert await problems(on_disk) == []


async def test_an_approval_stands_where_the_new_policy_changes_nothing_that_people_saw(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await takes_notes(world, Tier.CONFIRM)
    await is_left_pending(world, monkeypatch, "x")
    await world.shows()
    await world.approves("ana", "x")
    await is_in_force_unchecked(world, the_law(world, with_tool(timeout_s=7)))

    await world.workflow.recover()
    await world.workflow.idle()

    assert world.tool(NOTE).verbs() == ["execute"]


async def test_what_is_judged_anew_has_the_tier_that_the_rules_are_told_of(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PROPOSE asks for a tool that can take back what it did, and AUTO does not."""
    await is_left_pending(stage, monkeypatch, "x")
    await is_in_force_unchecked(stage, the_law(stage, with_tool(tier=Tier.PROPOSE)))

    await stage.workflow.recover()
    await stage.workflow.idle()

    refused = await stage.proposal("x")
    assert (refused.state, refused.reason) == (State.REJECTED, "reversible_when_required")


async def test_nobody_approves_what_has_left_the_config_before_it_is_checked_again(
    world: World,
) -> None:
    await takes_notes(world, Tier.CONFIRM)
    proposal_id = (await world.submits(LONG)).proposal_id or ""
    without = {name: tool for name, tool in world.workflow.policy.tools.items() if name != NOTE}
    await is_in_force_unchecked(world, the_law(world, lambda it: replace(it, tools=without)))

    reply = await world.approves("ana", proposal_id)

    assert reply.code == "not_a_reviewer"
    assert await world.store.read(lambda tx: list(tx.reviews.of(proposal_id))) == []
    assert world.tool(NOTE).calls == []


@pytest.mark.parametrize("tier", [Tier.AUTO, Tier.CONFIRM])
@pytest.mark.parametrize("document", [b"no document", b"{}", None])
async def test_what_somebody_wrote_over_before_its_verdict_is_ended_and_no_rule_reads_it(
    on_disk: World,
    monkeypatch: pytest.MonkeyPatch,
    forged: Any,
    document: bytes | None,
    tier: Tier,
) -> None:
    """What was no document stayed pending, and people were asked about any other."""
    await takes_notes(on_disk, tier)
    await is_left_pending(on_disk, monkeypatch, "x")
    other = (await on_disk.proposal("x")).document.replace(b"hello", b"hallo")
    forged(f"UPDATE proposals SET document = X'{(document or other).hex()}'")

    await on_disk.workflow.recover()
    await on_disk.workflow.idle()

    assert await on_disk.trail("x") == ["submitted", "reject"]
    await refused(on_disk, "x", NOTE)


async def test_what_somebody_wrote_over_is_ended_once_by_two_that_see_it_at_once(
    on_disk: World, monkeypatch: pytest.MonkeyPatch, forged: Any
) -> None:
    await takes_notes(on_disk, Tier.AUTO)
    await is_left_pending(on_disk, monkeypatch, "x")
    forged("UPDATE proposals SET document = X'7b7d'")
    gatekeeper = on_disk.workflow.gatekeeper

    ended = await asyncio.gather(gatekeeper.open("x"), gatekeeper.open("x"))

    assert [each and each.state for each in ended] == [State.REJECTED] * 2
    assert await on_disk.trail("x") == ["submitted", "reject"]
