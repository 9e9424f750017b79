"""A stop that waited counts for whoever has its account by now, where its giver may not give it:
also where the store cannot take it, and whoever else that is (ADR 0024)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind, Identity
from tests.builders import MAIL, NOUR, PROD
from tests.stage import in_memory
from tests.stories.spooling import nothing_can_be_stored
from tests.world import World

DEPLOYER = "production-deploy"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with in_memory(tmp_path) as stage:
        yield stage


async def zoe_may_stop_something_else(world: World, *groups: str) -> None:
    """Let there be zoe, who reviews what one other tool does, and belongs to more groups."""
    policy = world.workflow.policy
    zoe = replace(policy.people["ben"], id="zoe", groups=frozenset({"others", *groups}))
    other = replace(policy.tools[DEPLOYER], name="other-tool", reviewers="others")
    tools = {**policy.tools, other.name: other}
    await world.adopts(people={**policy.people, "zoe": zoe}, tools=tools)


def now_anas(world: World, then: Identity, heir: Identity | None = None) -> Sender:
    """Return the sender of what was heard when the account was of somebody else than now."""
    heir = heir or Identity(ActorKind.PERSON, "ana")
    heard_ms = world.clock.now_ms() - 1_000
    sender = world.sender("ana", "e1")
    return replace(sender, kind=then.kind, id=then.id, heard_at_ms=heard_ms, heir=heir)


@pytest.mark.parametrize("restarts", [True, False])
async def test_a_stop_that_is_kept_counts_for_who_has_its_account_where_its_giver_may_not_give_it(
    world: World, restarts: bool
) -> None:
    """It was promised, and refused once it could be carried out: zoe may stop something else."""
    await zoe_may_stop_something_else(world)
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"))
        assert (await world.workflow.reject(proposal_id, sender, "never do this")).done
    if restarts:
        await world.restarts()
    await world.keeps_house()
    assert str((await world.proposal(proposal_id)).decided_by) == "person ana"
    assert world.spool.stops == []


async def test_a_stop_that_is_kept_counts_for_nobody_who_has_left(world: World) -> None:
    await zoe_may_stop_something_else(world)
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    world.notifier.lost = frozenset({"ana"})
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"))
        assert not (await world.workflow.reject(proposal_id, sender, "never do this")).done
    await world.keeps_house()
    assert (await world.proposal(proposal_id)).state == "sentinel_approved"


async def test_a_freeze_that_is_kept_counts_for_who_has_its_account_where_its_giver_may_no_more(
    world: World,
) -> None:
    await zoe_may_stop_something_else(world, "operators")
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"))
        assert (await world.workflow.freeze("incident 8", sender)).done
    await zoe_may_stop_something_else(world)
    await world.keeps_house()
    frozen = await world.store.read(lambda tx: tx.flags.get("freeze"))
    assert (frozen or {}).get("by") == "ana"


async def test_a_stop_of_an_account_that_was_an_agents_is_kept_for_the_person_who_has_it(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.AGENT, "leila"))
        assert (await world.workflow.reject(proposal_id, sender, "never do this")).done
    await world.keeps_house()
    assert str((await world.proposal(proposal_id)).decided_by) == "person ana"


async def test_a_stop_counts_for_the_orchestrator_who_has_its_account_where_its_giver_may_not(
    world: World,
) -> None:
    await world.adopts(orchestrator=NOUR.id)
    await zoe_may_stop_something_else(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"), heir=NOUR)
    assert (await world.workflow.reject(proposal_id, sender, "never do this")).done
    assert (await world.proposal(proposal_id)).reason == "rejected_by_orchestrator"


async def zoe_may_stop_nothing(world: World) -> None:
    """Let there be zoe, who may stop nothing."""
    ben = world.workflow.policy.people["ben"]
    zoe = replace(ben, id="zoe", groups=frozenset())
    await world.adopts(people={**world.workflow.policy.people, "zoe": zoe})


@pytest.mark.parametrize("zoe_comes", [zoe_may_stop_something_else, zoe_may_stop_nothing])
async def test_a_stop_of_the_orchestrator_is_kept_whoever_has_its_account_by_now(
    world: World, zoe_comes: Callable[[World], Awaitable[None]]
) -> None:
    """It was refused for good as zoe's, who may not stop this: the store alone stood in its way."""
    await world.adopts(orchestrator=NOUR.id)
    await zoe_comes(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    with nothing_can_be_stored(world):
        sender = now_anas(world, NOUR, heir=Identity(ActorKind.PERSON, "zoe"))
        assert (await world.workflow.reject(proposal_id, sender, "never do this")).done
    await world.keeps_house()
    assert (await world.proposal(proposal_id)).reason == "rejected_by_orchestrator"
    assert world.spool.stops == []


@pytest.mark.parametrize("restarts", [True, False])
async def test_a_stop_that_is_kept_counts_for_the_orchestrator_who_has_its_account_by_now(
    world: World, restarts: bool
) -> None:
    await world.adopts(orchestrator=NOUR.id)
    await zoe_may_stop_something_else(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"), heir=NOUR)
        assert (await world.workflow.reject(proposal_id, sender, "never do this")).done
    if restarts:
        await world.restarts()
    await world.keeps_house()
    assert (await world.proposal(proposal_id)).reason == "rejected_by_orchestrator"
    assert world.spool.stops == []


async def test_a_line_of_before_names_an_heir_who_is_a_person(world: World) -> None:
    await zoe_may_stop_something_else(world)
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    with nothing_can_be_stored(world):
        sender = now_anas(world, Identity(ActorKind.PERSON, "zoe"))
        await world.workflow.reject(proposal_id, sender, "never do this")
    world.spool.stops = [
        {name: told for name, told in stop.items() if name != "heir_kind"}
        for stop in world.spool.stops
    ]
    await world.restarts()
    await world.keeps_house()
    assert str((await world.proposal(proposal_id)).decided_by) == "person ana"
