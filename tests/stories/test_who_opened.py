"""Whoever opened the gate is named in the trail, and still may open it when it begins."""

from __future__ import annotations

import pytest

from lifecycle.freezing import FROZEN
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, REFUND, a_policy, the_agents
from tests.stories.permits import begun_after, permitted, the_permit
from tests.stories.test_pending_policy import is_left_pending, takes_notes
from tests.world import World

AUTOMATIC = {"auto_approval_tiers": frozenset({Tier.PROPOSE})}


async def opened_by_nour(world: World) -> None:
    """Let the orchestrator nour open a mail that cannot begin yet."""
    await world.adopts(orchestrator="nour", **AUTOMATIC)
    await world.workflow.freeze("look first", world.sender("ana"))
    await world.submits(MAIL, proposal_id="p1")
    assert str((await world.proposal("p1")).opener) == "agent nour"


async def test_what_an_orchestrator_opened_begins_in_the_name_of_who_is_it_now(
    world: World,
) -> None:
    await opened_by_nour(world)
    await world.adopts(orchestrator="maia", agents=the_agents() | {"maia": the_agents()["nour"]})

    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=1)

    began = await world.proposal("p1")
    assert (began.state, str(began.opener)) == (State.EXECUTING, "agent maia")


async def test_what_an_orchestrator_opened_waits_for_people_where_nobody_is_it_any_more(
    world: World,
) -> None:
    await opened_by_nour(world)
    await world.adopts(orchestrator=a_policy().orchestrator)

    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=1)

    waits = await world.proposal("p1")
    assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool("send-email").calls == []


async def test_an_orchestrator_opens_nothing_that_sentinel_has_not_judged_yet(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await takes_notes(world, Tier.PROPOSE, reversible=True)
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset())
    await is_left_pending(world, monkeypatch, "p1")

    reply = await world.workflow.approve("p1", world.sender("nour"))

    waits = await world.proposal("p1")
    assert reply.code == "not_auto_approvable"
    assert (waits.state, waits.opener) == (State.PENDING, None)


@pytest.mark.parametrize("others", [[], ["ben"]])
async def test_an_approval_taken_back_leaves_open_what_the_orchestrator_opened(
    world: World, others: list[str]
) -> None:
    await opened_by_nour(world)
    for person in ["ana", *others]:
        assert (await world.approves(person, "p1")).done

    reply = await world.workflow.take_back("p1", world.sender("ana"))

    assert reply.done
    assert str((await world.proposal("p1")).opener) == "agent nour"


@pytest.mark.parametrize(("who", "opener"), [("ana", "ben"), ("ben", "dee")])
async def test_a_permit_stays_good_as_long_as_enough_people_approve(
    world: World, who: str, opener: str
) -> None:
    """In the name of ben, who was the second of two; of another only where he took it back."""
    proposal_id = await permitted(world, approval_class="dual")
    for person in ("ben", "dee"):
        assert (await world.approves(person, proposal_id, "checked")).done

    assert (await world.workflow.take_back(proposal_id, world.sender(who))).done

    opened = await world.proposal(proposal_id)
    assert str(opened.opener) == f"person {opener}"
    assert (opened.state, opened.permit_waits) == (State.SENTINEL_APPROVED, True)
    await begun_after(world)
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_a_permit_is_good_no_more_where_too_few_approve(world: World) -> None:
    proposal_id = await permitted(world, approval_class="dual")
    await world.approves("ben", proposal_id, "checked")
    permit = await the_permit(world)

    await world.workflow.take_back(proposal_id, world.sender("ana"))

    parameters, leila = REFUND["parameters"], world.sender("leila")
    assert not (await world.workflow.redeem(permit, parameters, leila)).done
    waits = await world.proposal(proposal_id)
    assert (waits.state, waits.opener, waits.permit_waits) == (
        State.SENTINEL_APPROVED,
        None,
        False,
    )
    assert waits.opener_puller is None


async def test_what_nobody_approves_any_more_waits_for_people_alone(world: World) -> None:
    await world.workflow.freeze("look first", world.sender("ana"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).waiting_for == FROZEN

    assert (await world.workflow.take_back("p1", world.sender("ana"))).done

    waits = await world.proposal("p1")
    assert (waits.opener, waits.opener_puller, waits.waiting_for) == (None, None, None)
