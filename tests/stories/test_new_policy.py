"""A policy that changes in between: nothing acts on the word of the old one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Policy
from lifecycle.ports import Call, StoreUnavailable, Transaction
from lifecycle.proposal import Execution, Outcome, Verb
from lifecycle.state import State
from lifecycle.tier import Tier
from sentinel_rules import load_rules
from tests.builders import MAIL, PROD, REFUND, a_document, a_proposal
from tests.roads import adopted
from tests.stories.forging import problems
from tests.world import World

SEND, DEPLOY = "send-email", "production-deploy"


def changed(world: World, mark: str, **changes: Any) -> tuple[Policy, Sentinel]:
    policy = replace(world.workflow.policy, **changes, digest="pol1_" + mark * 64)
    return policy, Sentinel(load_rules(policy.rules))


def forbidding(world: World, phrase: str) -> dict[str, Any]:
    rules = dict(world.workflow.policy.rules)
    settings = {"phrases": [phrase], "patterns": []}
    rules["prohibited_content"] = replace(rules["prohibited_content"], settings=settings)
    return {"rules": rules}


def once(world: World, monkeypatch: pytest.MonkeyPatch, when: Callable[[], Any]) -> None:
    """Do `when` once, right before the cards are read."""
    done: list[bool] = []

    async def read(proposal_id: str) -> bool:
        if not done:
            done.append(True)
            await when()
        return True

    monkeypatch.setattr(world.notifier, "read_cards", read)


async def test_a_window_does_not_close_unchecked_under_a_policy_that_came_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    policy, sentinel = changed(world, "b", **forbidding(world, "invoice 2847"))

    async def adopts_half() -> None:
        """The new law is in force; that everything open is checked again comes after."""
        await world.workflow.adopter.take_policy(
            law := type(world.workflow.world.law)(policy, sentinel), announced=True
        )
        world.workflow.world.law = law

    once(world, monkeypatch, adopts_half)
    world.clock.advance(900)
    await world.workflow.close_due()
    await world.workflow.idle()
    await world.keeps_house()

    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (await world.proposal(proposal_id)).reason == "rolled_back_by_sentinel"


async def test_nobody_ends_a_window_early_under_a_policy_it_was_not_checked_under(
    world: World,
) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    gate, called = asyncio.Event(), asyncio.Event()

    async def slow(call: Call) -> dict[str, Any]:
        called.set()
        await gate.wait()
        return {}

    world.tool(SEND).on["execute"] = slow
    submitting = asyncio.create_task(world.submits(MAIL, proposal_id="p1"))
    await called.wait()
    await adopted(world.workflow, *changed(world, "b", **forbidding(world, "invoice 2847")))
    gate.set()
    await submitting
    await world.workflow.idle()

    reply = await world.approves("ana", "p1")

    assert (reply.code, "checked again" in reply.words) == ("still_running", True)
    assert world.tool(SEND).verbs() == ["execute"]


async def test_nothing_begins_under_a_policy_that_has_been_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    law = type(world.workflow.world.law)(*changed(world, "b", **forbidding(world, "checkout")))
    real, taken = world.store.write, []

    async def write(unit: Any) -> Any:
        if len(taken) == 1:  # the store has the new policy before the process has
            taken.append(True)
            await world.workflow.adopter.take_policy(law, announced=True)
        return await real(unit)

    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("ana", proposal_id)
    await world.workflow.thaw(world.sender("ana"))
    taken.append(True)
    monkeypatch.setattr(world.store, "write", write)
    await world.workflow.gatekeeper.open(proposal_id)
    await world.workflow.idle()

    assert world.tool(DEPLOY).calls == []


async def test_a_check_under_one_policy_is_not_taken_for_one_under_the_next(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    adopter = world.workflow.adopter
    first = type(world.workflow.world.law)(
        *changed(world, "b", limits=world.workflow.policy.limits)
    )
    second = type(world.workflow.world.law)(*changed(world, "c", **forbidding(world, "checkout")))
    real = type(world.workflow.gatekeeper).check

    async def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = await real(self, *args, **kwargs)
        await adopter.put_in_force(second, lambda: None)
        return found

    await adopter.put_in_force(first, lambda: None)
    type(world.workflow.gatekeeper).check = checked  # type: ignore[method-assign]
    try:
        await adopter.recheck_one(await world.proposal(proposal_id))
    finally:
        type(world.workflow.gatekeeper).check = real  # type: ignore[method-assign]
    await world.workflow.recheck()

    assert (await world.proposal(proposal_id)).reason == "prohibited_content"


async def test_who_may_not_approve_any_more_has_opened_nothing(world: World) -> None:
    await world.adopts(solo_operator=True, people=approving(world, "olga"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("olga", proposal_id)
    assert (await world.proposal(proposal_id)).opener is not None

    await world.adopts(solo_operator=False)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert world.tool(DEPLOY).calls == []
    assert (await world.proposal(proposal_id)).opener is None


async def test_an_orchestrator_who_is_none_any_more_has_opened_nothing(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.workflow.freeze("wait", world.sender("ana"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""

    await world.adopts(orchestrator=None, auto_approval_tiers=frozenset())
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert world.tool(SEND).calls == []
    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED


def approving(world: World, name: str) -> dict[str, Any]:
    people = dict(world.workflow.policy.people)
    people[name] = replace(people[name], groups=people[name].groups | {"approvers"})
    return people


async def test_new_tools_come_into_service_with_their_policy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, sentinel = changed(world, "b", limits=world.workflow.policy.limits)
    in_force: list[str] = []

    await adopted(
        world.workflow, policy, sentinel, lambda: in_force.append(world.workflow.policy.digest)
    )

    assert in_force == [policy.digest]


async def test_what_cannot_be_noted_brings_neither_policy_nor_tools(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = world.workflow.policy.digest
    policy, sentinel = changed(world, "b", limits=world.workflow.policy.limits)
    swapped: list[bool] = []

    async def fails(unit: Any) -> Any:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(world.store, "write", fails)
    with pytest.raises(StoreUnavailable):
        await adopted(world.workflow, policy, sentinel, lambda: swapped.append(True))

    assert (world.workflow.policy.digest, swapped) == (before, [])


async def test_a_call_whose_policy_was_replaced_before_it_was_made_is_not_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    law = type(world.workflow.world.law)(*changed(world, "b", **forbidding(world, "checkout")))
    real = world.store.write

    async def write(unit: Any) -> Any:
        written = await real(unit)
        world.workflow.world.law = law  # the intent is on disk, the call not yet made
        return written

    monkeypatch.setattr(world.store, "write", write)
    await world.approves("ana", proposal_id)

    assert world.tool(DEPLOY).calls == []
    assert (await world.proposal(proposal_id)).reason == "tool_failed"


async def test_a_permit_of_the_policy_before_is_good_for_nothing(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    (permit,) = [m.body["permit"] for m in messages if m.kind == "permit"]
    law = type(world.workflow.world.law)(*changed(world, "b", limits=world.workflow.policy.limits))
    await world.workflow.adopter.take_policy(law, announced=True)
    world.workflow.world.law = law  # in force, and nothing is checked again yet

    reply = await world.workflow.redeem(permit, REFUND["parameters"], world.sender("leila"))

    assert reply.code == "permit_mismatch"
    assert (await world.proposal(proposal_id)).execution is None


async def test_tools_at_work_hide_nothing_from_the_check_under_a_new_policy(world: World) -> None:
    digest, now_ms = world.workflow.policy.digest, world.clock.now_ms()
    running = Execution(Verb.EXECUTE, 1, Outcome.RUNNING, began_at_ms=now_ms, by_agent=True)

    def at_work(tx: Transaction) -> None:
        for number in range(201):
            row = a_proposal(a_document(proposal_id=f"a{number:03d}"))
            at_work = row.but(
                state=State.EXECUTING, execution=running, checked_policy_digest=digest
            )
            tx.proposals.add(at_work)

    await world.submits(PROD, proposal_id="zz")
    await world.store.write(at_work)

    await world.adopts(limits=replace(world.workflow.policy.limits, proposal_ttl_s=99_999))

    assert (await world.proposal("zz")).checked_policy_digest == world.workflow.policy.digest


async def test_what_waits_opens_in_the_orchestrators_name_once_the_policy_says_so(
    world: World,
) -> None:
    for proposal_id, asked in (("waits", "none"), ("dual", "dual")):
        changes = {"parameters": MAIL["parameters"] | {"body": proposal_id}}
        await world.submits(MAIL, proposal_id=proposal_id, approval_class=asked, **changes)
    await world.submits(MAIL, by="nour", proposal_id="own")

    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))

    opened = await world.proposal("waits")
    assert (opened.state, str(opened.opener)) == (State.EXECUTING, "agent nour")
    for proposal_id in ("dual", "own"):
        waits = await world.proposal(proposal_id)
        assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    people = dict(world.workflow.policy.people)
    await world.adopts(people=people | {"eve": replace(people["ben"], id="eve", accounts={})})
    assert world.tool(SEND).verbs() == ["execute"]
    assert await problems(world) == []
