"""Who follows an answer to the letter comes further, and does nothing twice on its advice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import MAIL, NOW_MS, PROD
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World

REWORDED = {"parameters": MAIL["parameters"] | {"body": "Other words."}}
PERIOD = {"from": "2026-03-02T11:00:00Z", "until": "2026-03-02T13:00:00Z", "why": "stocktaking"}


async def frozen(world: World) -> None:
    """Let nothing be changed from eleven to one; it is noon."""
    rules = world.workflow.policy.rules
    settings = rules["change_window_open"].settings | {"freezes": [PERIOD]}
    asked = replace(rules["change_window_open"], settings=settings)
    await world.adopts(rules=rules | {"change_window_open": asked})


async def test_who_lost_an_answer_and_writes_anew_is_sent_to_look_and_not_to_a_new_id(
    world: World,
) -> None:
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=16)

    answer = await world.submits(MAIL, proposal_id="p1")

    assert answer.reason == "id_conflict"
    assert "look what became of it" in answer.explanation
    assert "only if it was not done, or is to be done once more" in answer.explanation


@pytest.mark.parametrize(("by", "changes"), [("leila", REWORDED), ("nour", {})])
async def test_of_an_id_with_other_content_or_of_somebody_else_nothing_more_is_told(
    world: World, by: str, changes: dict[str, Any]
) -> None:
    await world.submits(MAIL, proposal_id="p1", by="leila")

    answer = await world.submits(MAIL, proposal_id="p1", by=by, **changes)

    assert answer.explanation == "This proposal_id stands for another document; choose a new one."


async def test_what_may_come_again_later_is_told_that_it_needs_a_new_id(world: World) -> None:
    await frozen(world)
    first = await world.submits(PROD, proposal_id="p1", ts_ms=NOW_MS)
    await world.passes(minutes=61)

    same = await world.submits(PROD, proposal_id="p1", ts_ms=NOW_MS)
    anew = await world.submits(PROD, proposal_id="p2")

    assert first.as_json()["retry"] == "later"
    assert first.explanation.endswith("Propose it again later, under a new id.")
    assert (same.state, anew.state) == ("rejected", "sentinel_approved")


async def test_what_waits_for_evidence_is_told_that_it_needs_a_new_id(world: World) -> None:
    """It said to wait, and whoever had waited and sent the same got the same answer for ever."""
    await world.observes(False)
    first = await world.submits(MAIL, proposal_id="p1", preconditions=[CONDITION], ts_ms=NOW_MS)
    await world.passes(seconds=1)
    await world.observes(True)

    same = await world.submits(MAIL, proposal_id="p1", preconditions=[CONDITION], ts_ms=NOW_MS)
    anew = await world.submits(MAIL, proposal_id="p2", preconditions=[CONDITION])

    assert first.explanation.endswith("Propose it again then, under a new id.")
    assert (same.state, anew.state) == ("rejected", "sentinel_approved")


async def test_what_waits_for_evidence_and_for_its_hours_is_told_that_it_needs_a_new_id(
    world: World,
) -> None:
    await frozen(world)
    await world.observes(False)

    answer = await world.submits(PROD, proposal_id="p1", preconditions=[CONDITION])

    assert {fault.rule for fault in answer.errors} == {"preconditions_hold", "change_window_open"}
    assert answer.explanation.endswith("Propose it again later, under a new id.")


@pytest.mark.parametrize("hours", [0, 1, 30])
async def test_the_same_bytes_are_answered_with_what_became_of_them_however_late(
    world: World, hours: int
) -> None:
    await world.submits(MAIL, proposal_id="p1", ts_ms=NOW_MS)
    await world.approves("ana", "p1")
    await world.passes(minutes=16 + 60 * hours)

    same = await world.submits(MAIL, proposal_id="p1", ts_ms=NOW_MS)

    assert (same.state, same.deduplicated) == ("completed", True)


async def test_a_used_id_is_named_as_a_kernel_request_calls_it(world: World) -> None:
    """It named proposal_id, which a KernelRequest does not have."""
    tools = dict(world.workflow.policy.tools)
    match = {"resource_type": "order", "domain": "shop.example"}
    await world.adopts(tools=tools | {"search": replace(tools["search"], match=match)})
    request = {"request_id": "r1", "actor": "leila", "intent": "Look an order up"} | {
        "tool_call": {"name": "search"},
        "params": {"resource_id": "order-17"},
    }
    for ts_ms in (NOW_MS, NOW_MS + 1):
        sent = json.dumps(request | {"ts_ms": ts_ms}).encode()
        answer = await world.workflow.submit(sent, world.sender("leila"))

    assert (answer.reason, answer.errors[0].path) == ("id_conflict", "request_id")
    assert "under this request_id" in answer.explanation


async def test_what_has_to_be_changed_first_is_not_told_to_come_again_as_it_is(
    world: World,
) -> None:
    await frozen(world)
    target = PROD["target"] | {"domain": "elsewhere.example"}
    answer = await world.submits(PROD, proposal_id="p1", target=target)

    assert answer.as_json()["retry"] == "after_change"
    assert "later" not in answer.explanation


@pytest.mark.parametrize("guessed", [1, NOW_MS // 1000, NOW_MS - 365 * 86_400_000])
async def test_who_has_no_clock_learns_what_time_it_is(world: World, guessed: int) -> None:
    """It said: This must be within 600000 ms of now."""
    answer = await world.submits(MAIL, proposal_id="p1", ts_ms=guessed)

    assert answer.reason == "implausible_time"
    told = int(answer.explanation.split("It is ")[1].split(" now.")[0])
    again = await world.submits(MAIL, proposal_id="p1", ts_ms=told)
    assert again.state == "sentinel_approved"
