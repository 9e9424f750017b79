"""Somebody writes into what only counts: limits, receipts, and who must decide are verified too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Rate
from lifecycle.state import State
from tests.builders import MAIL, PROD, REFUND, a_document
from tests.fakes.tools import answering
from tests.stories.forging import named, problems
from tests.stories.permits import begun
from tests.world import World

MORE_TO_SPEND = {
    "an amount is lowered": "UPDATE spending SET amount = '1.00'",
    "an amount is taken away": "DELETE FROM spending",
    "it counts in another currency": "UPDATE spending SET currency = 'EUR'",
    "it counts for somebody else": "UPDATE spending SET actor = 'nour'",
    "it was spent long ago": "UPDATE spending SET at_ms = 1",
}


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


@pytest.mark.parametrize("change", MORE_TO_SPEND.values(), ids=MORE_TO_SPEND)
async def test_what_counts_for_a_limit_is_named_where_it_was_changed(
    world: World, forged: Any, change: str
) -> None:
    await world.submits(REFUND)
    assert await problems(world) == []

    forged(change)

    assert any("the trail says 120.00" in words for words in await problems(world))


@pytest.mark.parametrize("change", MORE_TO_SPEND.values(), ids=MORE_TO_SPEND)
async def test_what_was_spent_is_named_where_it_was_changed(
    world: World, forged: Any, change: str
) -> None:
    proposal_id = await begun(world)
    await world.workflow.report(proposal_id, world.sender("leila"), "done", {"refund": "r-1"})
    assert (await world.proposal(proposal_id)).state is State.COMPLETED
    assert await problems(world) == []

    forged(change)

    assert any("the trail says 120.00" in words for words in await problems(world))


async def test_a_use_whose_time_is_none_counts_until_the_rate_has_passed(
    world: World, forged: Any
) -> None:
    tools = world.workflow.policy.tools
    await world.adopts(tools=tools | {"search": replace(tools["search"], rate=Rate(1, 60))})
    asked = a_document(MAIL, tool="search", action_type="read", parameters={"query": "terms"})
    await world.submits(asked, proposal_id="first")
    forged("UPDATE uses SET at_ms = 'noon'")

    refused = await world.submits(asked, proposal_id="second")

    assert refused.reason == "rate_limited"


async def test_what_was_given_up_counts_for_nothing_and_is_no_alarm(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.workflow.withdraw(proposal_id, world.sender("leila"))
    assert await problems(world) == []


async def test_what_a_tool_without_a_window_answered_is_named_where_it_was_changed(
    world: World, forged: Any
) -> None:
    world.tool("production-deploy").on["execute"] = answering({"deployed": "v42"})
    await world.approves("ana", (await world.submits(PROD)).proposal_id or "")
    assert await problems(world) == []

    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.receipt.deployed', 'v41')")

    assert await named(world) == ["what its tool answered is not what the trail tells"]


async def test_that_only_people_may_decide_is_named_where_it_was_changed(
    world: World, forged: Any
) -> None:
    await world.submits(PROD, approval_class="dual")
    assert await problems(world) == []

    forged("UPDATE proposals SET rest = json_set(rest, '$.quorum_needs_people', json('false'))")

    assert await named(world) == ["its need of people is False, the trail says True"]


NO_AMOUNTS = {
    "a text": "amount = 'many'",
    "no number": "amount = 'NaN'",
    "bytes": "amount = X'00ff'",
    "no UTF-8": "amount = CAST(X'ff' AS TEXT)",
    "below zero": "amount = '-25000.00'",
    "out of all bounds": "amount = '1e999999999'",
    "longer than any": "amount = replace(hex(zeroblob(5000)), '0', '1')",
    "of no currency": "currency = X'00ff'",
    "of a currency in no UTF-8": "currency = CAST(X'ff' AS TEXT)",
}


@pytest.mark.parametrize("value", NO_AMOUNTS.values(), ids=NO_AMOUNTS)
async def test_what_is_no_amount_leaves_nothing_of_its_currency_and_keeps_nobody_from_the_rest(
    world: World, forged: Any, value: str
) -> None:
    """Its agent could propose nothing any more, not even a mail, and nothing of it could begin."""
    await world.submits(MAIL, proposal_id="before")
    await world.submits(REFUND)
    forged(f"UPDATE spending SET {value}")

    other = REFUND["target"] | {"resource_id": "another"}
    money = await world.submits(REFUND, proposal_id="money", target=other)
    target = MAIL["target"] | {"resource_id": "another"}
    mail = await world.submits(MAIL, proposal_id="mail", target=target)
    for proposal_id in ("before", "mail"):
        await world.approves("ana", proposal_id)

    assert (mail.state, money.state, money.reason) == (
        "sentinel_approved",
        "rejected",
        "amount_within_limit",
    )
    assert "cannot be read in the database" in money.explanation
    assert [(await world.proposal(each)).state.value for each in ("before", "mail")] == [
        "executing"
    ] * 2
    assert any("the trail says 120.00" in words for words in await problems(world))
