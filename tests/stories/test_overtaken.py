"""A word that had to wait counts for what stood when it was heard, not for what came since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import CardPlace, Sender
from lifecycle.heard import HeardStop
from lifecycle.policy import Level
from lifecycle.ports import Call, ToolFailed
from lifecycle.proposal import Attention, Outcome, Verb
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.clock import FakeClock
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
CARD = CardPlace("terminal", "m-p1")


def heard(world: World, name: str, seconds_ago: float) -> Sender:
    """Return the sender of what was heard so long ago, and is worked only now."""
    heard_at_ms = world.clock.now_ms() - int(seconds_ago * 1000)
    return replace(world.sender(name), surface="slack", heard_at_ms=heard_at_ms)


def on_the_card(world: World, seconds_ago: float) -> Sender:
    """Return ana as she was heard so long ago on the surface on which the card stands."""
    return replace(heard(world, "ana", seconds_ago), surface="terminal")


async def cut_off(_: Call) -> dict[str, Any]:
    raise RuntimeError("cut off")


async def frozen(world: World) -> bool:
    return bool(await world.store.read(lambda tx: tx.flags.get("freeze")))


# -- freeze and thaw ------------------------------------------------------------------------------


async def test_a_thaw_that_was_heard_before_the_freeze_does_not_lift_it(world: World) -> None:
    await world.workflow.freeze("one", world.sender("ana"))
    world.clock.advance(60)
    await world.workflow.freeze("incident 8", world.sender("ana"))
    world.clock.advance(5)
    reply = await world.workflow.thaw(heard(world, "ana", 6))
    assert reply.code == "stale_card"
    assert await frozen(world)
    assert (await world.workflow.thaw(heard(world, "ana", 4))).done
    assert not await frozen(world)


async def test_a_thaw_that_was_heard_after_a_freeze_that_waited_lifts_it(world: World) -> None:
    await world.workflow.freeze("incident 8", heard(world, "ana", 60))
    assert (await world.workflow.thaw(heard(world, "ana", 30))).done
    assert not await frozen(world)


async def test_a_freeze_that_waited_makes_no_newer_one_older(world: World) -> None:
    """A thaw from between the two lifted what was younger than itself."""
    await world.workflow.freeze("incident 8", world.sender("ana"))
    world.clock.advance(30)
    await world.workflow.freeze("incident 7", heard(world, "ana", 60))
    assert (await world.workflow.thaw(heard(world, "ana", 45))).code == "stale_card"
    assert await frozen(world)
    assert (await world.workflow.thaw(heard(world, "ana", 15))).done


async def test_a_tick_that_came_off_and_waited_makes_no_newer_one_older(world: World) -> None:
    await world.submits(PROD)
    await world.workflow.take_back("p1", world.sender("ana"), card=CARD)
    world.clock.advance(30)
    await world.workflow.take_back("p1", on_the_card(world, 60), card=CARD)
    assert (await world.workflow.approve("p1", heard(world, "ana", 45))).code == "stale_card"
    assert (await world.workflow.approve("p1", heard(world, "ana", 15))).done


async def test_a_thaw_counts_although_the_clock_was_set_back_since_the_freeze(
    world: World,
) -> None:
    before_ms = world.clock.now_ms()
    world.clock.advance(3_600)
    await world.workflow.freeze("incident 8", world.sender("ana"))
    world.clock = world.workflow.world.clock = FakeClock(before_ms)
    assert (await world.workflow.thaw(heard(world, "ana", 1))).done


# -- approving ------------------------------------------------------------------------------------


async def test_an_approval_heard_before_it_was_taken_back_does_not_count(world: World) -> None:
    await world.submits(PROD, approval_class="dual")
    await world.approves("ana", "p1")
    world.clock.advance(5)
    await world.workflow.take_back("p1", world.sender("ana"))
    world.clock.advance(5)
    reply = await world.workflow.approve("p1", heard(world, "ana", 6))
    assert reply.code == "stale_card"
    assert (await world.workflow.approve("p1", heard(world, "ben", 6))).done
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED


async def test_an_approval_heard_before_a_tick_came_off_does_not_count_if_that_never_had(
    world: World,
) -> None:
    await world.submits(PROD)
    world.clock.advance(5)
    off = replace(heard(world, "ana", 1), surface="terminal")
    assert (await world.workflow.take_back("p1", off, card=CARD)).code == "already_decided"
    world.clock.advance(5)
    assert (await world.workflow.approve("p1", heard(world, "ana", 8))).code == "stale_card"
    assert (await world.workflow.approve("p1", heard(world, "ana", 4))).done


async def test_an_approval_given_again_counts_although_its_taking_back_was_worked_late(
    world: World,
) -> None:
    await world.submits(PROD)
    await world.workflow.freeze("so that nothing begins", world.sender("ana"))
    await world.approves("ana", "p1")
    world.clock.advance(60)
    await world.workflow.take_back("p1", heard(world, "ana", 20), card=CARD)
    assert (await world.workflow.approve("p1", heard(world, "ana", 10))).done


async def test_a_typed_approval_counts_for_nothing_that_was_found_since_it_was_heard(
    world: World,
) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=rules)
    await world.observes(True)
    await world.submits(PROD, preconditions=[CONDITION])
    world.clock.advance(5)
    await world.observes(False)
    await world.shows()
    world.clock.advance(5)
    reply = await world.workflow.approve("p1", heard(world, "ana", 6), "right")
    assert reply.code == "stale_card"
    assert world.tool(DEPLOY).verbs() == []
    assert (await world.workflow.approve("p1", heard(world, "ana", 4), "right")).done


async def test_a_typed_approval_counts_over_a_verdict_that_says_the_same(world: World) -> None:
    await world.observes(True)
    await world.submits(PROD, preconditions=[CONDITION])
    world.clock.advance(5)
    await world.observes(True)
    world.clock.advance(5)
    assert (await world.workflow.approve("p1", heard(world, "ana", 6))).done


# -- settling and trying again --------------------------------------------------------------------


async def test_a_settling_of_one_call_says_nothing_of_the_next(world: World) -> None:
    tool = world.tool(SEND)
    tool.on = {str(Verb.EXECUTE): cut_off, str(Verb.COMMIT): cut_off}
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    await world.workflow.settle("p1", world.sender("ben"), happened=True)
    await world.passes(seconds=901)
    unknown = await world.proposal("p1")
    assert unknown.attention is Attention.OUTCOME_UNKNOWN
    assert unknown.execution is not None
    assert unknown.execution.verb is Verb.COMMIT

    reply = await world.workflow.settle("p1", heard(world, "ana", 902), happened=True)
    assert reply.code == "stale_card"
    after = await world.proposal("p1")
    assert after.execution is not None
    assert after.execution.outcome is Outcome.UNKNOWN
    world.clock.advance(1)
    assert (await world.workflow.settle("p1", heard(world, "ana", 0), happened=True)).done


async def test_a_retry_of_what_was_tried_again_since_calls_nothing(world: World) -> None:
    world.tool(DEPLOY).on = {str(Verb.EXECUTE): cut_off}
    await world.submits(PROD)
    await world.approves("ana", "p1")
    world.clock.advance(5)
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()
    world.clock.advance(5)
    reply = await world.workflow.retry("p1", heard(world, "ana", 6))
    await world.workflow.idle()
    assert reply.code == "stale_card"
    assert world.tool(DEPLOY).verbs() == ["execute", "execute"]


@pytest.mark.parametrize("ago", [0, 6])
async def test_a_stop_counts_whatever_came_since_it_was_heard(world: World, ago: float) -> None:
    await world.submits(MAIL)
    world.clock.advance(5)
    await world.approves("ana", "p1")
    world.clock.advance(1)
    assert (await world.workflow.reject("p1", heard(world, "ben", ago), "no")).done
    await world.workflow.idle()
    assert (await world.proposal("p1")).state is State.ROLLED_BACK


async def failed(_: Call) -> dict[str, Any]:
    raise ToolFailed("not today")


async def test_a_retry_heard_after_a_commit_failed_tries_it_again(world: World) -> None:
    world.tool(SEND).on = {str(Verb.COMMIT): failed}
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    await world.passes(seconds=901)
    assert (await world.proposal("p1")).attention is Attention.COMMIT_FAILED
    world.clock.advance(5)
    assert (await world.workflow.retry("p1", heard(world, "ana", 1))).done


# -- letting go of what nobody could work ---------------------------------------------------------


async def test_a_thaw_lets_go_of_no_freeze_that_was_heard_after_it(world: World) -> None:
    await world.workflow.freeze("one", world.sender("ana"))
    await world.submits(PROD)
    await world.approves("ben", "p1")
    world.clock.advance(5)
    waits = HeardStop("slack:1", "slack", world.clock.now_ms())
    world.workflow.world.heard.add(waits)
    world.clock.advance(70)
    assert (await world.workflow.thaw(heard(world, "ana", 72))).done
    await world.keeps_house()
    assert world.workflow.world.heard.freezes() == (waits,)
    assert world.tool(DEPLOY).verbs() == []

    assert (await world.workflow.thaw(heard(world, "ana", 1))).done
    await world.passes(seconds=10)
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_retry_lets_go_of_no_stop_that_was_heard_after_it(world: World) -> None:
    await world.submits(PROD)
    world.clock.advance(5)
    waits = HeardStop("slack:1", "slack", world.clock.now_ms(), "p1")
    world.workflow.world.heard.add(waits)
    await world.approves("ben", "p1")
    world.clock.advance(70)
    assert (await world.workflow.retry("p1", heard(world, "ana", 72))).code == "nothing_to_settle"
    await world.keeps_house()
    assert world.tool(DEPLOY).verbs() == []

    assert (await world.workflow.retry("p1", heard(world, "ana", 1))).done
    await world.passes(seconds=10)
    assert world.tool(DEPLOY).verbs() == ["execute"]
