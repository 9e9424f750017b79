"""Evidence that turns while a tool runs, or nobody knows what came of it: judged once that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.judging.adopting import Adopter
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import Level
from lifecycle.proposal import Proposal
from lifecycle.state import State
from lifecycle.verdict import Finding, RuleResult
from lifecycle.verdicts import last_judged
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising, waiting_for
from tests.stories.forging import problems
from tests.stories.resting_on_evidence import (
    CONDITION,
    SEND,
    TAKEN_BACK,
    Mail,
    has_no_window,
    is_taken_back,
)
from tests.world import World

STAGING = "staging-deploy"


def by_a_mistaken_policy(check: Any, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the next check be made by a policy that was in force for a moment: it finds `changes`."""

    async def judged(gatekeeper: Gatekeeper, proposal: Proposal) -> Any:
        monkeypatch.setattr(Gatekeeper, "check_evidence", check)
        facts, verdict = await check(gatekeeper, proposal)
        return facts, replace(verdict, policy_digest="pol1_" + "4" * 64, **changes)

    monkeypatch.setattr(Gatekeeper, "check_evidence", judged)


@pytest.fixture(params=["running", "unknown"])
async def mail(world: World, request: pytest.FixtureRequest) -> Mail:
    """A mail under way."""
    under_way = Mail(world, request.param)
    await under_way.is_sent()
    return under_way


async def test_what_objects_while_nobody_knows_the_outcome_rolls_back_once_it_is_known(
    world: World, mail: Mail
) -> None:
    await world.observes(False)
    assert world.tool(SEND).verbs() == ["execute"]

    await mail.is_answered()

    await is_taken_back(world)


async def test_an_objection_to_what_is_compensated_later_is_acted_on_once_its_tool_answers(
    world: World,
) -> None:
    gate = asyncio.Event()
    world.tool(STAGING).on["execute"] = waiting_for(gate)
    target = PROD["target"] | {"domain": "staging.shop.example"}
    await world.observes(True)
    changes = {"tool": STAGING, "target": target, "preconditions": [CONDITION]}
    await world.submits(PROD, proposal_id="m1", **changes)
    await world.workflow.approve("m1", world.sender("ana"))
    world.clock.advance(1)
    await world.observes(False)

    gate.set()
    await world.workflow.idle()
    await world.workflow.recheck()
    await world.workflow.idle()

    ended = await world.proposal("m1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool(STAGING).verbs() == TAKEN_BACK


async def test_evidence_that_turns_while_the_tool_is_gone_takes_back_once_it_is_there_again(
    world: World,
) -> None:
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])
    await world.approves("ana", "m1")
    tools = world.workflow.policy.tools
    await world.adopts(tools={name: each for name, each in tools.items() if name != SEND})
    world.clock.advance(1)
    await world.observes(False)
    await world.workflow.recheck()
    await world.workflow.idle()
    assert world.tool(SEND).verbs() == ["execute"]
    assert not last_judged.is_owed(await world.proposal("m1"))

    await world.adopts(tools=tools)
    await world.workflow.recheck()
    await world.workflow.idle()

    await is_taken_back(world)


async def test_an_objection_does_not_age_away_before_anybody_could_act_on_it(
    world: World, mail: Mail
) -> None:
    await world.observes(False)
    world.clock.advance(90 * 60)

    await mail.is_answered()

    await is_taken_back(world)


async def test_evidence_that_turns_back_before_the_outcome_is_known_takes_nothing_back(
    world: World, mail: Mail
) -> None:
    await world.observes(False)
    world.clock.advance(1)
    await world.observes(True)
    world.clock.advance(9 * 60)

    await mail.is_answered()
    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal("m1")).reason == "window_closed_unopposed"


async def test_what_a_mistaken_policy_let_pass_is_judged_by_the_one_in_force(
    world: World, mail: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mail.is_answered()
    by_a_mistaken_policy(Gatekeeper.check_evidence, monkeypatch, results=())

    await world.observes(False)
    await world.workflow.recheck()
    await world.passes(minutes=16)

    await is_taken_back(world)


async def test_what_a_mistaken_policy_objected_to_takes_nothing_back(
    world: World, mail: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mail.is_answered()
    objects = RuleResult("preconditions_hold", Level.HARD, (Finding("evidence_failed", "", "no"),))
    by_a_mistaken_policy(Gatekeeper.check_evidence, monkeypatch, results=(objects,))

    await world.observes(True)
    await world.workflow.recheck()
    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_an_objection_outlives_a_restart(world: World, mail: Mail) -> None:
    await world.observes(False)
    mail.how = "unknown"  # what was running then
    await world.restarts()
    await world.keeps_house()

    await mail.is_answered()

    await is_taken_back(world)


async def test_a_window_does_not_close_on_an_objection_that_no_round_has_come_to(
    world: World, mail: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.observes(False)
    monkeypatch.setattr(Adopter, "recheck", lambda _self: asyncio.sleep(0))
    await mail.is_answered()
    assert world.tool(SEND).verbs() == ["execute"]

    await world.passes(minutes=16)

    await is_taken_back(world)


async def test_while_the_outcome_is_unknown_nothing_is_judged_again_and_again(
    world: World, mail: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("check", "check_evidence"):
        monkeypatch.setattr(Gatekeeper, name, counting(getattr(Gatekeeper, name), asked))
    await world.observes(False)
    assert len(asked) == 1

    for _ in range(5):
        world.clock.advance(1)
        await world.workflow.recheck()
        await world.workflow.recover()
        await world.workflow.close_due()

    assert len(asked) == 1
    await mail.is_answered()
    await is_taken_back(world)


def counting(real: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    async def counted(self: Any, proposal: Any, **how: Any) -> Any:
        asked.append(proposal.proposal_id)
        return await real(self, proposal, **how)

    return counted


async def test_what_was_taken_back_in_part_is_not_judged_for_ever(
    world: World, mail: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.tool(SEND).on["roll_back"] = raising(RuntimeError("cut off"))
    await world.observes(False)
    await mail.is_answered()
    assert world.tool(SEND).verbs() == TAKEN_BACK
    await world.workflow.settle("m1", world.sender("ana"), happened=False)

    await world.workflow.recheck()
    asked: list[str] = []
    monkeypatch.setattr(Gatekeeper, "check_evidence", counting(Gatekeeper.check_evidence, asked))
    await world.workflow.recheck()

    assert asked == []


@pytest.mark.parametrize("how", ["running", "unknown"])
async def test_without_a_window_nothing_is_committed_that_evidence_objected_to_meanwhile(
    world: World, how: str
) -> None:
    await has_no_window(world)
    mail = Mail(world, how)
    await mail.is_sent()
    await world.observes(False)

    await mail.is_answered()
    await world.keeps_house()

    await is_taken_back(world)


async def test_a_window_that_names_no_evidence_closes_without_a_question_about_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")

    def asked(_tx: Any) -> list[str]:
        raise AssertionError("nobody has to ask")

    monkeypatch.setattr(last_judged, "unjudged", asked)
    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute", "commit"]


@pytest.mark.parametrize("how", ["running", "unknown"])
async def test_the_trail_tells_of_an_objection_that_waits(on_disk: World, how: str) -> None:
    mail = Mail(on_disk, how)
    await mail.is_sent()
    await on_disk.observes(False)
    assert await problems(on_disk) == []

    await mail.is_answered()

    trail = await on_disk.trail("m1")
    assert [kind for kind in trail if kind.startswith("check_")] == ["check_owed"]
    assert trail[-2:] == ["roll_back_claimed", "roll_back"]
    assert await problems(on_disk) == []
