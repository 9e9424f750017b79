"""Who may do what, where: the table told a second time, from the text alone, and tried whole.

Each situation meets each deed of each person. Nothing of the law is asked what it would say.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.answers import Reply
from lifecycle.policy import Person, Policy
from lifecycle.ports import ToolFailed
from tests.builders import DAY_MS, MAIL, NOW_MS, PROD, a_policy, the_agents, the_people
from tests.fakes.tools import answering, raising
from tests.world import World, a_world

OWNER: Final = "olga"  # of leila, who proposes everything here
ORCHESTRATOR: Final = "nour"
OPERATORS: Final = {"ana", "eve"}
EVERYBODY: Final = ("ana", "ben", "cal", "eve", OWNER, "leila", ORCHESTRATOR, "nobody")
DEEDS: Final = ("approve", "stop", "withdraw", "settle happened", "settle did-not-happen", "retry")


async def _proposed(world: World) -> None:
    await world.submits(MAIL)


async def _deployment(world: World) -> None:
    await world.submits(PROD)


async def _opened_by_nour(world: World) -> None:
    await world.submits(MAIL)
    await world.approves(ORCHESTRATOR, "p1")


async def _opened_by_ana(world: World) -> None:
    await world.submits(MAIL)
    await world.approves("ana", "p1")


async def _commit_failed(world: World) -> None:
    world.tool("send-email").on["commit"] = raising(ToolFailed("the server refused"))
    await _opened_by_nour(world)
    await world.passes(minutes=15)


async def _half_taken_back(world: World) -> None:
    world.tool("send-email").on["roll_back"] = answering({"still_stands": ["a part"]})
    await _opened_by_nour(world)
    await world.rejects("ben", "p1")


async def _unknown(world: World) -> None:
    world.tool("production-deploy").on["execute"] = raising(RuntimeError())
    await world.submits(PROD)
    await world.approves("ana", "p1")


async def _completed(world: World) -> None:
    await world.submits(PROD)
    await world.approves("ana", "p1")


async def _refused(world: World) -> None:
    await world.submits(PROD)
    await world.rejects("ana", "p1")


async def _past_its_deadline(world: World) -> None:
    await world.submits(PROD)
    world.clock.set(NOW_MS + DAY_MS)
    await world.keeps_house()


Situation = Callable[[World], Awaitable[None]]
BEFORE: Final = {_proposed, _deployment}
OF_THE_ORCHESTRATOR: Final = {_proposed}
CAN_BE_TAKEN_BACK: Final = {_opened_by_nour, _opened_by_ana, _commit_failed}
SITUATIONS: Final = (
    *(_proposed, _deployment, _opened_by_nour, _opened_by_ana, _commit_failed),
    *(_half_taken_back, _unknown, _completed, _refused, _past_its_deadline),
)


def told_to_be_allowed(deed: str, who: str, at: Situation, reviewers: set[str], solo: bool) -> bool:
    """Say what design sections 6 to 8 and ADR 0012 let this person do here."""
    match deed:
        case "approve":
            opens = at in BEFORE or at is _opened_by_nour
            reviews = who in reviewers and (solo or who != OWNER)
            return (opens and reviews) or (at in OF_THE_ORCHESTRATOR and who == ORCHESTRATOR)
        case "stop":
            stops = who in reviewers | OPERATORS | {OWNER}
            by_agent = at in OF_THE_ORCHESTRATOR and who == ORCHESTRATOR
            return (stops and at in BEFORE | CAN_BE_TAKEN_BACK) or by_agent
        case "withdraw":
            return who == "leila" and at in BEFORE
        case "settle happened":
            return who in reviewers and at in {_unknown, _half_taken_back}
        case "settle did-not-happen":
            return who in reviewers and at is _unknown
        case _:
            return who in reviewers and at in {_unknown, _half_taken_back, _commit_failed}


async def done(world: World, deed: str, who: str) -> Reply:
    sender, workflow = world.sender(who), world.workflow
    match deed:
        case "approve":
            reply = await workflow.approve("p1", sender)
        case "stop":
            reply = await workflow.reject("p1", sender, "no")
        case "withdraw":
            reply = await workflow.withdraw("p1", sender)
        case "retry":
            reply = await workflow.retry("p1", sender)
        case _:
            reply = await workflow.settle("p1", sender, happened=deed == "settle happened")
    await workflow.idle()
    return reply


def policy_of(owner_reviews: bool, solo: bool) -> Policy:
    people = the_people() | {"eve": Person("eve", groups=frozenset({"operators"}))}
    if owner_reviews:
        people[OWNER] = replace(people[OWNER], groups=frozenset({"approvers"}))
    return a_policy(
        people=people, agents=the_agents(), orchestrator=ORCHESTRATOR, solo_operator=solo
    )


@pytest.mark.parametrize(("owner_reviews", "solo"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("at", SITUATIONS, ids=lambda at: at.__name__[1:])
async def test_each_person_may_do_here_what_is_written_and_nothing_else(
    at: Situation, owner_reviews: bool, solo: bool
) -> None:
    reviewers = {"ana", "ben"} | ({OWNER} if owner_reviews else set())
    policy, wrong = policy_of(owner_reviews, solo), []
    for deed, who in itertools.product(DEEDS, (OWNER,) if owner_reviews else EVERYBODY):
        world = a_world(MemoryStore(), policy)
        await world.workflow.start()
        await at(world)
        await world.shows()
        before, ignored = await world.proposal("p1"), len(await world.audit("ignored"))

        reply = await done(world, deed, who)

        allowed = told_to_be_allowed(deed, who, at, reviewers, solo)
        if reply.done is not allowed:
            wrong.append(f"{who}: {deed}: {reply}")
        if not allowed:
            assert await world.proposal("p1") == before
            assert len(await world.audit("ignored")) == ignored + 1
    assert not wrong
