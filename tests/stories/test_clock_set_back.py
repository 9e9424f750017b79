"""A clock that was ahead and was set back before a restart: what it wrote down keeps nobody out and
is told all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from bot.jobs import tell_clock
from lifecycle.policy import Rate
from lifecycle.proposal import Proposal
from tests.builders import DAY_MS, MAIL
from tests.fakes.clock import NOON_MS, FakeClock
from tests.world import World

HOUR_S: Final = 3_600
TEN_YEARS_S: Final = 3_652 * 86_400
AHEAD: Final = pytest.mark.parametrize("ahead_s", [HOUR_S, TEN_YEARS_S], ids=["hour", "years"])


def the_clock_says(world: World, at_ms: int) -> None:
    world.workflow.world.clock = world.clock = FakeClock(at_ms)


def the_clock_is_ahead(world: World, by_s: int) -> None:
    the_clock_says(world, NOON_MS + by_s * 1000)


async def the_clock_is_set_right(world: World) -> None:
    the_clock_says(world, NOON_MS)
    await world.restarts()


def a_body(number: int) -> dict[str, Any]:
    return {"parameters": MAIL["parameters"] | {"body": f"Hello {number}"}}


async def a_rate(world: World, rate: Rate) -> None:
    tools = dict(world.workflow.policy.tools)
    await world.adopts(tools=tools | {"send-email": replace(tools["send-email"], rate=rate)})


async def ended(world: World, proposal_id: str) -> Proposal:
    found = await world.proposal(proposal_id)
    assert found.terminal
    return found


@AHEAD
async def test_what_was_proposed_under_a_clock_that_was_ahead_uses_up_no_rate_for_years(
    world: World, ahead_s: int
) -> None:
    await a_rate(world, Rate(2, 60))
    the_clock_is_ahead(world, ahead_s)
    for number in range(2):
        assert (await world.submits(MAIL, **a_body(number))).reason is None
    assert (await world.submits(MAIL, **a_body(2))).reason == "rate_limited"

    await the_clock_is_set_right(world)

    assert (await world.submits(MAIL, **a_body(3))).reason is None


async def test_a_clock_set_back_by_less_than_the_rates_time_doubles_the_wait_at_most(
    world: World,
) -> None:
    await a_rate(world, Rate(2, 60))
    the_clock_is_ahead(world, 59)
    for number in range(2):
        await world.submits(MAIL, **a_body(number))
    await the_clock_is_set_right(world)

    refused = await world.submits(MAIL, **a_body(3))

    assert (refused.reason, refused.retry_after_s) == ("rate_limited", 119)
    world.clock.advance(119)
    assert (await world.submits(MAIL, **a_body(4))).reason is None


@pytest.mark.parametrize(
    ("ahead_s", "binds"), [(HOUR_S, True), (HOUR_S + 1, False), (TEN_YEARS_S, False)]
)
async def test_a_refusal_of_a_clock_that_was_ahead_binds_twice_as_long_at_most(
    world: World, ahead_s: int, *, binds: bool
) -> None:
    the_clock_is_ahead(world, ahead_s)
    await world.submits(MAIL, proposal_id="p1")
    await world.rejects("ana", "p1")
    await the_clock_is_set_right(world)

    again = await world.submits(MAIL, proposal_id="p2")

    assert again.reason == ("previously_rejected" if binds else None)
    world.clock.advance(2 * HOUR_S + 1)
    assert (await world.submits(MAIL, proposal_id="p3")).reason is None


@AHEAD
async def test_an_agent_hears_of_a_bare_cross_that_was_given_under_a_clock_that_was_ahead(
    world: World, ahead_s: int
) -> None:
    the_clock_is_ahead(world, ahead_s)
    await world.submits(MAIL, proposal_id="p1")
    await world.reacts("ana", "p1", "❌")
    assert (await ended(world, "p1")).reason_due_ms is not None

    await the_clock_is_set_right(world)
    await world.keeps_house()

    assert (await ended(world, "p1")).reason_due_ms is None
    at_ms = world.clock.now_ms()
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", at_ms, 99))
    assert [(m.recipient, m.kind) for m in told if m.proposal_id == "p1" and m.recipient] == [
        ("leila", "ended")
    ]


@AHEAD
async def test_what_was_observed_under_a_clock_that_was_ahead_can_be_observed_again(
    world: World, ahead_s: int
) -> None:
    the_clock_is_ahead(world, ahead_s)
    await world.observes(value=True)
    await the_clock_is_set_right(world)

    await world.observes(value=False)

    packet = await world.store.read(lambda tx: tx.evidence.get("e1"))
    assert packet is not None
    assert (packet.observed_at_ms, packet.payload) == (NOON_MS, {"ok": False})


async def test_people_are_told_of_a_flood_though_a_clock_that_was_ahead_told_of_one(
    world: World,
) -> None:
    await a_rate(world, Rate(1, 60))
    for at_s in (TEN_YEARS_S, 0):
        the_clock_is_ahead(world, at_s)
        for number in range(3):
            await world.submits(MAIL, **a_body(number + at_s))

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 99))
    assert len([m for m in told if m.key.startswith("flood:")]) == 2


async def test_the_head_is_shown_each_day_though_a_clock_that_was_ahead_showed_one_of_it(
    world: World,
) -> None:
    await world.submits(MAIL)
    for day in (0, 1, 0, 1):  # by the clock; the last two are right
        the_clock_says(world, NOON_MS + day * DAY_MS)
        assert [await world.workflow.anchor() for _ in range(2)] == [1, 0]

    assert len(set(await announced(world, "Audit head: "))) == 4
    anchored = [each["details"]["hash"] for each in await world.audit("anchored")]
    assert [text[-64:] for text in await announced(world, "Audit head: ")] == anchored


async def test_people_are_told_each_day_of_a_clock_that_stands_before_the_trail(
    world: World,
) -> None:
    the_clock_is_ahead(world, TEN_YEARS_S)
    await world.submits(MAIL)
    for minute, day in enumerate((0, 1, 0)):
        the_clock_says(world, NOON_MS + day * DAY_MS + minute * 60_000)
        for _ in range(2):
            await tell_clock.run_once(world.workflow)

    assert len(await announced(world, "The clock says ")) == 3


async def announced(world: World, begin: str) -> list[str]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 99))
    texts = (str(each.body.get("text", "")) for each in told if each.kind == "announcement")
    return [text for text in texts if text.startswith(begin)]
