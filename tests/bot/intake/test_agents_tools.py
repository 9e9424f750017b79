"""What a tool and the limits ask of a call is kept by the doors that write its proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.client import Signoff, governed
from lifecycle.ports import Transaction
from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_keys import asked

HOUR_S = 3600
MATCH = {"action_type": "transact", "resource_type": "payment", "domain": "shop.example"}


async def matched(outside: Outside) -> None:
    """Let the tool of the agent match by everything that a `match` may name."""
    tools = dict(outside.world.workflow.policy.tools)
    tools["issue-refund"] = replace(tools["issue-refund"], match=MATCH)
    await outside.world.adopts(tools=tools)


async def shortened(outside: Outside, longest_s: int) -> None:
    limits = replace(outside.world.workflow.policy.limits, longest_window_s=longest_s)
    await outside.world.adopts(limits=limits)


async def target_of(outside: Outside, proposal_id: str) -> dict[str, Any]:
    return (await outside.world.proposal(proposal_id)).read().target.model_dump()


async def test_a_call_of_a_tool_that_matches_an_action_type_waits_for_people(
    leila, outside
) -> None:
    await matched(outside)

    told = (await asked(leila, "k1")).json()

    assert told["status"] == "pending"
    target = await target_of(outside, told["id"])
    assert (target["resource_type"], target["domain"]) == ("payment", "shop.example")


async def test_a_governed_call_of_a_tool_that_matches_an_action_type_waits_for_people(
    outside,
) -> None:
    await matched(outside)
    async with Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms) as signoff:

        @governed("issue-refund", signoff=signoff, timeout_s=0)
        async def refund(amount: str, currency: str) -> None:
            raise AssertionError("must not run")

        with pytest.raises(TimeoutError, match="sentinel_approved"):
            await refund("12.00", "USD")

        (found,) = (await signoff._http.get("/v1/proposals")).json()["proposals"]
    target = await target_of(outside, found["proposal_id"])
    assert (target["resource_type"], target["domain"]) == ("payment", "shop.example")


async def test_a_call_that_asks_for_more_time_than_a_window_may_have_gets_that_much(
    leila, outside
) -> None:
    await shortened(outside, HOUR_S)

    told = (await asked(leila, "k1", timeout="24h")).json()

    assert told["status"] == "pending"
    window = (await outside.world.proposal(told["id"])).read().time_window
    assert window is not None
    assert window.valid_until_ms - window.valid_from_ms == HOUR_S * 1000


async def test_a_call_whose_proposal_was_not_noted_finds_it_again_under_another_limit(
    leila, outside
) -> None:
    one = (await asked(leila, "k1", timeout="24h")).json()

    def forgotten(tx: Transaction) -> None:
        """Leave the store as a process did that died between the proposal and its call."""
        tx.flags.put(f"aap:{one['id']}", None)

    await outside.world.store.write(forgotten)
    await shortened(outside, HOUR_S)
    again = await asked(leila, "k1", timeout="24h")

    assert again.status_code == 201
    assert again.json()["deadline_at"] == one["deadline_at"]
