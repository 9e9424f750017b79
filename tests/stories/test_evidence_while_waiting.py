"""Evidence that turns while a proposal waits: nobody is asked about what could not begin."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.judging.adopting import Adopter
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import Level
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Proposal
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.verdict import PASSED
from lifecycle.world import Law
from sentinel_rules import load_rules
from tests.builders import MAIL, REFUND
from tests.lifecycle.laws import law
from tests.stories.forging import problems
from tests.stories.permits import the_permit
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World

TWO = {"approval_class": "dual"}


async def waits(world: World, document: Any = MAIL, **changes: Any) -> None:
    """Propose it while its evidence is good; a second later a source may see something else."""
    await world.observes(True)
    await world.submits(document, proposal_id="m1", preconditions=[CONDITION], **changes)
    world.clock.advance(1)


async def is_rejected(world: World) -> Proposal:
    ended = await world.proposal("m1")
    assert (ended.state, ended.reason) == (State.REJECTED, "preconditions_hold")
    assert str(ended.decided_by) == "sentinel sentinel"
    assert world.tool(SEND).calls == []
    return ended


async def test_what_waits_for_people_is_rejected_once_its_evidence_is_false(
    on_disk: World,
) -> None:
    await waits(on_disk, **TWO)
    await on_disk.approves("ana", "m1")
    before = await on_disk.proposal("m1")

    await on_disk.observes(False)

    ended = await is_rejected(on_disk)
    assert before.verdict is not None
    assert ended.verdict is not None
    rules = {result.rule for result in before.verdict.results}
    assert {result.rule for result in ended.verdict.results} == rules
    assert len(ended.verdict.results) == len(rules)
    assert (await on_disk.approves("ben", "m1")).code == "already_decided"
    assert await problems(on_disk) == []


async def test_an_agent_hears_why_what_it_proposed_came_to_nothing(world: World) -> None:
    await waits(world, task_id="t1")

    await world.observes(False)

    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 99))
    assert task is not None
    assert task.state == "backlog"
    assert [m.kind for m in messages if m.proposal_id == "m1"][-1] == "ended"


async def test_a_freeze_does_not_keep_alive_what_its_evidence_forbids(world: World) -> None:
    await world.workflow.freeze("a look first", world.sender("ana"))
    await waits(world)
    await world.approves("ana", "m1")

    await world.observes(False)

    await is_rejected(world)


async def test_a_permit_that_nobody_redeemed_is_worth_nothing_once_its_evidence_is_false(
    world: World,
) -> None:
    await waits(world, REFUND)
    await world.approves("ana", "m1")
    permit = await the_permit(world)

    await world.observes(False)
    reply = await world.workflow.redeem(permit, REFUND["parameters"], world.sender("leila"))

    await is_rejected(world)
    assert reply.code == "already_decided"


async def test_evidence_that_stays_good_leaves_approvals_as_they_are(world: World) -> None:
    await waits(world, **TWO)
    await world.approves("ana", "m1")

    await world.observes(True)
    await world.approves("ben", "m1")

    assert world.tool(SEND).verbs() == ["execute"]


async def test_a_rule_that_is_late_ends_nothing_that_waits_for_people(world: World) -> None:
    await waits(world, **TWO)
    await world.approves("ana", "m1")
    policy, over = world.workflow.policy, Event()
    others = [rule for rule in load_rules(policy.rules) if rule.id != "preconditions_hold"]
    late = law("preconditions_hold", lambda: (over.wait(60), PASSED)[1])
    world.workflow.world.law = Law(policy, Sentinel([*others, late], limit_s=0.05))
    try:
        await world.observes(True)
    finally:
        over.set()
        world.workflow.world.law = Law(policy, Sentinel(load_rules(policy.rules)))

    assert (await world.proposal("m1")).state is State.SENTINEL_APPROVED
    await world.approves("ben", "m1")
    assert world.tool(SEND).verbs() == ["execute"]


async def test_evidence_that_was_old_when_it_was_recorded_lets_it_wait(world: World) -> None:
    await waits(world)
    condition = CONDITION | {"evidence_ref": "e2"}
    await world.observes(True, "e2")
    await world.submits(MAIL, by="nour", proposal_id="m2", preconditions=[CONDITION, condition])
    world.clock.advance(3600)

    await world.observes(True)  # of e2 nobody knows anything new

    assert (await world.proposal("m2")).state is State.SENTINEL_APPROVED


async def test_a_soft_rule_that_objects_by_now_asks_people_for_a_reason(world: World) -> None:
    rules = dict(world.workflow.policy.rules)
    soft = replace(rules["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=rules | {"preconditions_hold": soft})
    await waits(world, **TWO)
    await world.approves("ana", "m1")

    await world.observes(False)

    raised = await world.proposal("m1")
    reviews = await world.store.read(lambda tx: tx.reviews.of("m1"))
    assert (raised.state, raised.tier) == (State.SENTINEL_APPROVED, Tier.CONFIRM)
    assert [review.counts for review in reviews] == [False]
    assert (await world.approves("ana", "m1")).code == "reason_required"


async def test_what_turns_while_sentinel_is_still_asked_counts_for_its_verdict(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Gatekeeper._verdict
    turned: list[bool] = []

    async def verdict(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = await real(self, *args, **kwargs)
        if not turned:
            turned.append(True)
            world.clock.advance(1)
            await world.observes(False)
        return found

    await world.observes(True)
    monkeypatch.setattr(Gatekeeper, "_verdict", verdict)
    answer = await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])

    assert answer.reason == "preconditions_hold"
    await is_rejected(world)


async def test_what_nobody_lived_to_judge_is_judged_at_the_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(_self: Adopter, evidence_id: str) -> int:
        raise StoreUnavailable("the process ended")

    await waits(world)
    with monkeypatch.context() as patched:
        patched.setattr(Adopter, "evidence_changed", dies)
        await world.observes(False)
    assert (await world.proposal("m1")).state is State.SENTINEL_APPROVED

    await world.restarts()

    await is_rejected(world)


async def test_what_is_past_its_deadline_has_expired_whatever_is_seen_then(world: World) -> None:
    await waits(world)
    world.clock.set((await world.proposal("m1")).deadline_ms)

    await world.observes(False)
    await world.keeps_house()

    assert (await world.proposal("m1")).reason == "expired"
