"""Of policies, what is needed to compare a later one with is kept, and nothing else."""

from __future__ import annotations

from lifecycle.verdicts.fingerprints import fingerprints_under
from tests.builders import PROD
from tests.fakes.tools import raising
from tests.roads import adopted
from tests.world import World

TOOL = "production-deploy"


async def test_of_policies_nobody_was_judged_under_for_long_nothing_is_kept(world: World) -> None:
    """Every reload of another config left a row in the store for good."""
    world.tool(TOOL).on["execute"] = raising(RuntimeError("nobody knows"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    digests = [world.workflow.policy.digest]
    for _ in range(4):
        await world.adopts()
        digests.append(world.workflow.policy.digest)

    # What is open was last judged under the first, which is compared with once its end is known.
    assert (await world.proposal(proposal_id)).checked_policy_digest == digests[0]
    assert await kept_of(world, digests) == [digests[0], *digests[-2:]]

    await world.workflow.settle(proposal_id, world.sender("ben"), happened=True)
    await world.adopts()
    digests.append(world.workflow.policy.digest)
    assert await kept_of(world, digests) == digests[-2:]


async def test_a_policy_that_comes_back_is_kept_like_any_other(world: World) -> None:
    policy, sentinel = world.workflow.policy, world.workflow.world.law.sentinel
    digests = [policy.digest]
    for _ in range(3):
        await world.adopts()
        digests.append(world.workflow.policy.digest)
    assert await kept_of(world, digests) == digests[-2:]

    await adopted(world.workflow, policy, sentinel)

    assert await kept_of(world, digests) == [digests[0], digests[-1]]


async def kept_of(world: World, digests: list[str]) -> list[str]:
    """Return of which policies something is kept to compare a later one with."""
    return await world.store.read(
        lambda tx: [digest for digest in digests if fingerprints_under(tx, digest) is not None]
    )
