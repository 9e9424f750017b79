"""A new policy while a tool runs, or nobody knows what came of it: judged once that is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.clockwork.restored import bring_back
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import Level, RuleSettings
from lifecycle.state import State
from sentinel_rules import load_rules
from tests.builders import MAIL, the_rules
from tests.fakes.tools import raising, waiting_for
from tests.roads import adopted
from tests.stories.forging import problems
from tests.stories.resting_on_evidence import has_no_window
from tests.world import World

SEND = "send-email"
HOW = pytest.mark.parametrize("how", ["running", "unknown"])


def forbidding() -> dict[str, RuleSettings]:
    """Return rules under which the mail may not go where it goes."""
    settings = {"domains": ["shop.example"]}
    return the_rules() | {"recipients_allowed": RuleSettings(Level.HARD, settings)}


async def is_judged_under(world: World, how: str, rules: dict[str, RuleSettings]) -> None:
    """Send a mail, put the rules in force before its outcome is known, then let it be known."""
    gate = asyncio.Event()
    cut_off = raising(RuntimeError("cut off"))
    world.tool(SEND).on["execute"] = waiting_for(gate) if how == "running" else cut_off
    await world.submits(MAIL, proposal_id="m1")
    await world.workflow.approve("m1", world.sender("ana"))
    await asyncio.sleep(0.01)
    policy = replace(world.workflow.policy, rules=rules, digest="pol1_" + "9" * 64)
    await adopted(world.workflow, policy, Sentinel(load_rules(rules)))  # while its tool is at work
    gate.set()
    await world.workflow.idle()
    if how == "unknown":
        assert (await world.workflow.settle("m1", world.sender("ana"), happened=True)).done
    assert world.tool(SEND).verbs() == ["execute"]


async def is_taken_back(world: World) -> None:
    ended = await world.proposal("m1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]


@HOW
async def test_what_the_new_policy_forbids_is_taken_back_once_the_outcome_is_known(
    world: World, how: str
) -> None:
    await is_judged_under(world, how, forbidding())

    await world.workflow.recheck()
    await world.workflow.idle()

    await is_taken_back(world)


@HOW
async def test_what_the_new_policy_forbids_is_not_committed_when_its_window_closes(
    world: World, how: str
) -> None:
    await is_judged_under(world, how, forbidding())

    await world.passes(minutes=17)

    await is_taken_back(world)


@HOW
async def test_without_a_window_what_the_new_policy_forbids_is_not_committed(
    world: World, how: str
) -> None:
    await has_no_window(world)
    await is_judged_under(world, how, forbidding())

    await world.keeps_house()

    await is_taken_back(world)


@HOW
async def test_without_a_window_what_the_new_policy_allows_is_committed_once_it_is_checked(
    world: World, how: str
) -> None:
    await has_no_window(world)
    await is_judged_under(world, how, dict(the_rules()))
    staged = await world.audit("staged")
    assert [each["details"]["why"][:7] for each in staged] == ["a check"]

    await world.keeps_house()
    await world.keeps_house()

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal("m1")).reason == "tool_succeeded"


@HOW
async def test_the_trail_tells_of_what_waited_for_a_check(on_disk: World, how: str) -> None:
    await has_no_window(on_disk)
    await is_judged_under(on_disk, how, dict(the_rules()))
    await on_disk.keeps_house()
    await on_disk.keeps_house()

    assert (await on_disk.proposal("m1")).state is State.COMPLETED
    assert await problems(on_disk) == []


async def test_a_commit_of_nobody_knows_what_is_judged_where_its_window_goes_on(
    world: World,
) -> None:
    """Of a copy that was brought back: a person finds that it was not committed."""
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "a copy"))
    await world.adopts(rules=forbidding())
    await world.workflow.thaw(world.sender("ana"))

    assert (await world.workflow.settle("m1", world.sender("ana"), happened=False)).done
    await world.passes(minutes=17)

    await is_taken_back(world)


async def test_while_its_outcome_is_unknown_nothing_is_judged_at_each_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    await world.adopts(rules=forbidding())

    async def asked(_self: Gatekeeper, *_what: Any, **_how: Any) -> Any:
        raise AssertionError("nothing can be taken back yet")

    monkeypatch.setattr(Gatekeeper, "check", asked)
    assert await world.workflow.recheck() == 1
    assert (await world.proposal("m1")).state is State.EXECUTING
