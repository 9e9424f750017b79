"""Whoever was taken for somebody by what is not theirs any more decides nothing in their name."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from lifecycle.answers import Reply, Sender
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document
from tests.roads import adopted
from tests.stories.doubtful import DEPLOY, unknown_deployment
from tests.stories.test_questions import asks, id_of
from tests.world import World


def taken(world: World, name: str) -> Sender:
    """Return somebody as the policy of now knows them, by what the next one takes away."""
    now = world.workflow.policy
    return replace(world.sender(name), proof=lambda policy: policy is now)


async def replaced(world: World) -> None:
    """Let a new config come that changes accounts and tokens alone: its digest is the same."""
    law = world.workflow.world.law
    await adopted(world.workflow, replace(law.policy), law.sentinel)


def settles(world: World, sender: Sender) -> Awaitable[Reply]:
    return world.workflow.settle("p1", sender, happened=True)


def retries(world: World, sender: Sender) -> Awaitable[Reply]:
    return world.workflow.retry("p1", sender)


@pytest.mark.parametrize("verb", [settles, retries])
async def test_they_neither_settle_nor_retry(
    world: World, verb: Callable[[World, Sender], Awaitable[Reply]]
) -> None:
    await unknown_deployment(world)
    ana = taken(world, "ana")
    await replaced(world)

    assert (await verb(world, ana)).code == "not_a_reviewer"
    assert (await world.proposal("p1")).attention == "outcome_unknown"


async def test_they_do_not_thaw_and_still_freeze(world: World) -> None:
    ana = taken(world, "ana")
    await replaced(world)
    assert (await world.workflow.freeze("something is odd", ana)).done

    assert (await world.workflow.thaw(ana)).code == "not_an_operator"
    await world.submits(PROD)
    await world.approves("ben", "p1")
    assert world.tool(DEPLOY).verbs() == []


async def test_they_answer_no_question(world: World) -> None:
    asked = id_of(await asks(world, "May I?"))
    ben = taken(world, "ben")
    await replaced(world)

    reply = await world.workflow.answer_question(asked, ben, "Yes.")
    assert reply.code == "not_a_reviewer"


async def test_they_propose_nothing_and_are_told_so_beforehand(world: World) -> None:
    leila = taken(world, "leila")
    await replaced(world)
    raw = json.dumps(a_document(MAIL, ts_ms=world.clock.now_ms())).encode()

    assert (await world.workflow.check(raw, leila)).reason == "unknown_agent"
    assert (await world.workflow.submit(raw, leila)).reason == "unknown_agent"
    assert await world.audit("submitted") == []


async def test_the_orchestrator_approves_by_hand_by_its_own_account_alone(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset[Tier]())
    await world.submits(MAIL)
    nour = taken(world, "nour")
    await replaced(world)

    assert (await world.workflow.approve("p1", nour)).code == "not_a_reviewer"
    assert (await world.workflow.approve("p1", world.sender("nour"))).done


async def test_what_they_stop_is_stopped(world: World) -> None:
    await world.submits(PROD)
    ana = taken(world, "ana")
    await replaced(world)

    assert (await world.workflow.reject("p1", ana, "wait")).done
