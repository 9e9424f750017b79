"""Case E06 through the whole law: a day has a limit, and a restart forgets nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from decimal import Decimal

import pytest

from lifecycle.answers import Answer
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.sentinel import LoadedRule
from tests.builders import REFUND, a_document
from tests.roads import adopted
from tests.world import World, rules_of


async def refunds(world: World, order: int, amount: str = "9900.00", by: str = "leila") -> Answer:
    return await world.submits(
        REFUND,
        by=by,
        target=REFUND["target"] | {"resource_id": f"order-{order}"},
        parameters={"amount": amount, "currency": "USD"},
    )


def codes(answer: Answer) -> set[str]:
    return {fault.code for fault in answer.errors}


async def test_E06_ten_small_steps_reach_the_limit_of_the_day_across_a_restart(
    world: World,
) -> None:
    first, second = await refunds(world, 1), await refunds(world, 2)
    await world.approves("ana", second.proposal_id or "")
    await world.passes(minutes=20)
    await world.restarts()

    third = await refunds(world, 3)
    await world.passes(minutes=20)
    fourth = await refunds(world, 4)
    for over in (third, fourth):
        assert (over.state, over.reason, codes(over)) == (
            "rejected",
            "amount_within_limit",
            {"daily_limit"},
        )
    assert (await world.proposal(first.proposal_id or "")).state == "sentinel_approved"
    assert (await refunds(world, 5, "5200.00")).state == "sentinel_approved"


async def test_E06_what_was_completed_counts_and_what_was_rejected_does_not(world: World) -> None:
    done, refused = await refunds(world, 1), await refunds(world, 2)
    await world.approves("ana", done.proposal_id or "")
    permits = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    permit = next(str(m.body["permit"]) for m in permits if m.kind == "permit")
    parameters, leila = {"amount": "9900.00", "currency": "USD"}, world.sender("leila")
    assert (await world.workflow.redeem(permit, parameters, leila)).done
    assert (await world.workflow.report(done.proposal_id or "", leila, "done", {})).done
    await world.rejects("ana", refused.proposal_id or "")

    assert (await refunds(world, 3)).state == "sentinel_approved"
    assert codes(await refunds(world, 4)) == {"daily_limit"}


async def test_E06_a_day_later_the_limit_is_whole_again(world: World) -> None:
    for order in (1, 2):
        await refunds(world, order)
    assert codes(await refunds(world, 3)) == {"daily_limit"}

    await world.passes(minutes=24 * 60 + 1)
    await world.restarts()

    assert (await refunds(world, 4)).state == "sentinel_approved"


async def test_E06_each_agent_has_a_limit_of_its_own(world: World) -> None:
    for order in (1, 2):
        await refunds(world, order)

    assert (await refunds(world, 3, by="nour")).state == "sentinel_approved"


async def test_E06_a_proposal_does_not_count_itself_when_it_begins(world: World) -> None:
    for order in (1, 2):
        await refunds(world, order, "10000.00")
    last = (await refunds(world, 3, "5000.00")).proposal_id or ""

    await world.approves("ana", last)

    assert (await world.proposal(last)).permit_waits
    spent = await world.store.read(
        lambda tx: tx.spending.spent("leila", world.clock.now_ms() - 86_400_000, last)
    )
    assert spent == {"USD": Decimal(20000)}


async def test_E06_what_is_open_counts_however_old_it_is(world: World) -> None:
    now_ms = world.clock.now_ms()
    six_days = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 6 * 86_400_000}
    window = six_days | {"max_duration_ms": 600_000}
    for order in (1, 2):
        parameters = {"amount": "9900.00", "currency": "USD"}
        target = REFUND["target"] | {"resource_id": f"order-{order}"}
        answer = await world.submits(
            REFUND, target=target, parameters=parameters, time_window=window
        )
        assert answer.state == "sentinel_approved"
    await world.passes(minutes=3 * 24 * 60)

    assert codes(await refunds(world, 3)) == {"daily_limit"}


async def test_E06_what_was_completed_counts_from_then_on_for_a_day(world: World) -> None:
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 6 * 86_400_000}
    parameters = {"amount": "9900.00", "currency": "USD"}
    for order in (1, 2):
        await world.passes(minutes=24 * 60)
        answer = await world.submits(
            REFUND,
            target=REFUND["target"] | {"resource_id": f"order-{order}"},
            parameters=parameters,
            time_window=window | {"max_duration_ms": 600_000},
        )
        await world.approves("ana", answer.proposal_id or "")
        permits = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
        permit = [str(m.body["permit"]) for m in permits if m.kind == "permit"][-1]
        leila = world.sender("leila")
        if order == 2:
            await world.passes(minutes=30)
        assert (await world.workflow.redeem(permit, parameters, leila)).done
        assert (await world.workflow.report(answer.proposal_id or "", leila, "done", {})).done

    await world.passes(minutes=23 * 60)
    within = await refunds(world, 3, "15200.00")
    await world.passes(minutes=61)
    after = await refunds(world, 4, "9900.00")

    assert "daily_limit" in codes(within)
    assert after.state == "sentinel_approved"


class Slow:
    """Keeps Sentinel waiting at the proposal `late`, from `asked` on until `go_on`."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    def applies_to(self, proposal_id: str) -> bool:
        if proposal_id == "late":
            self.asked.set()
            self.go_on.wait(30)
        return True

    async def put_in_force(self, world: World) -> None:
        """Let the first rule wait so."""
        rule, *others = rules_of(world.workflow.policy)
        fields = {"applies_to": lambda _, document, facts: self.applies_to(document.proposal_id)}
        odd = type("Odd", (type(rule.rule),), fields)(rule.options)
        rules = [LoadedRule(odd, rule.level, rule.options), *others]
        await adopted(world.workflow, world.workflow.policy, Sentinel(rules, limit_s=60.0))


@pytest.fixture
def slow() -> Iterator[Slow]:
    """What it waits for comes at the end of the test in any case."""
    slow = Slow()
    yield slow
    slow.go_on.set()


async def test_E06_what_nobody_has_judged_yet_takes_no_approval_from_what_came_before_it(
    world: World, slow: Slow
) -> None:
    """Ana approved the first refund, and it was rejected for a third one that was rejected too."""
    await slow.put_in_force(world)
    first = (await refunds(world, 1)).proposal_id or ""
    await refunds(world, 2)
    third = a_document(
        REFUND,
        proposal_id="late",
        ts_ms=world.clock.now_ms(),
        target=REFUND["target"] | {"resource_id": "order-3"},
        parameters={"amount": "9900.00", "currency": "USD"},
    )
    leila = world.sender("leila")
    sending = asyncio.create_task(world.workflow.submit(json.dumps(third).encode(), leila))
    await asyncio.to_thread(slow.asked.wait, 30)
    assert (await world.proposal("late")).state == "pending"

    await world.workflow.approve(first, world.sender("ana"))
    assert (await world.proposal(first)).permit_waits
    slow.go_on.set()

    assert codes(await sending) == {"daily_limit"}
    assert (await world.proposal(first)).permit_waits
