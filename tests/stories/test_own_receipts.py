"""What a tool does to the receipt that it is handed changes nothing that is on record."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.ports import Call, ToolFailed
from lifecycle.proposal import Outcome
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import answering
from tests.world import World

RECEIPT = {"id": "m1", "sent": [1, 2]}


async def test_a_receipt_that_a_tool_empties_still_serves_to_take_back(world: World) -> None:
    seen: list[Any] = []

    async def executes(call: Call) -> dict[str, Any]:
        return {"id": "m1", "sent": [1, 2]}

    async def empties(call: Call) -> dict[str, Any]:
        assert isinstance(call.receipt, dict)
        call.receipt.pop("id")
        call.receipt["sent"].clear()
        raise ToolFailed("not now")

    async def takes_back(call: Call) -> dict[str, Any]:
        seen.append(call.receipt)
        return {}

    mail = world.tool("send-email")
    mail.on |= {"execute": executes, "commit": empties, "roll_back": takes_back}
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=15)
    failed = await world.proposal("p1")
    await world.rejects("ana", "p1")

    assert failed.execution is not None
    assert failed.execution.receipt == RECEIPT
    assert seen == [RECEIPT]
    assert (await world.proposal("p1")).state is State.ROLLED_BACK


@pytest.mark.parametrize("odd", [2**60, float("nan"), "\ud800"])
async def test_what_a_tool_did_is_done_whatever_numbers_it_tells(world: World, odd: Any) -> None:
    seen: list[Any] = []

    async def takes_back(call: Call) -> dict[str, Any]:
        seen.append(call.receipt)
        return {}

    mail = world.tool("send-email")
    mail.on |= {"execute": answering({"message": odd}), "roll_back": takes_back}
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    done = await world.proposal("p1")
    await world.rejects("ana", "p1")

    assert done.execution is not None
    assert (done.execution.outcome, done.attention) == (Outcome.DONE, None)
    assert [type(receipt["message"]) for receipt in seen] == [str]
    assert (await world.proposal("p1")).state is State.ROLLED_BACK
