"""What a person settles ends in their name by no review: no other surface is named for it."""

from __future__ import annotations

from typing import Any

from tests.builders import PROD
from tests.world import World


async def test_the_end_of_what_was_settled_names_no_event_of_an_earlier_approval(
    world: World,
) -> None:
    async def crashes(_call: Any) -> Any:
        raise OSError("gone")

    world.tool("production-deploy").on["execute"] = crashes
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana", "event-1"))
    await world.workflow.idle()
    await world.workflow.settle(proposal_id, world.sender("ana", "event-2"), happened=True)

    (settled,), (ended,) = await world.audit("settled"), await world.audit("complete")
    assert (settled["surface"], settled["event_id"]) == ("terminal", "event-2")
    assert (ended["actor"]["id"], ended["event_id"]) == ("ana", None)
