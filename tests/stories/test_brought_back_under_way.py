"""A copy is brought back in which something was under way that no commit follows."""

from __future__ import annotations

from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import PROD
from tests.stories.permits import begun
from tests.stories.test_brought_back import brought_back
from tests.world import World


async def test_what_an_agent_carries_out_itself_goes_on_over_a_copy(world: World) -> None:
    refund = await begun(world)

    assert await brought_back(world) == 1

    goes_on = await world.proposal(refund)
    assert (goes_on.state, goes_on.attention) == (State.EXECUTING, None)


async def test_what_is_compensated_later_and_was_done_in_a_copy_can_be_taken_back(
    world: World,
) -> None:
    target = PROD["target"] | {"domain": "staging.shop.example"}
    deploy = (await world.submits(PROD, tool="staging-deploy", target=target)).proposal_id or ""
    await world.approves("ana", deploy)
    await brought_back(world)

    doubtful = await world.proposal(deploy)
    assert doubtful.attention is Attention.OUTCOME_UNKNOWN
    assert f"{deploy}:execute:1" in doubtful.attention_why, "there is no commit of it"
    assert (await world.workflow.settle(deploy, world.sender("ana"), happened=True)).done
    assert (await world.proposal(deploy)).state is State.EXECUTING
    await world.workflow.thaw(world.sender("ana"))
    await world.rejects("ben", deploy)

    assert (await world.proposal(deploy)).state is State.ROLLED_BACK
    assert world.tool("staging-deploy").verbs() == ["execute", "roll_back"]
