"""A proposal that had to wait for the bot is no older than it was when it was heard."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.tier import Tier
from tests.builders import MAIL, a_document
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World

SKEW_MS = 600_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SEARCH = {"tool": "search", "action_type": "read", "parameters": {"query": "refunds"}}
TOO_OLD = ("implausible_time", "ts_ms")


async def answered(
    world: World, waited_ms: int, off_ms: int = 0, until_ms: int = 0, **more: Any
) -> tuple[str, str] | None:
    """Submit what waited; `off_ms` is by how much its clock was off, `until_ms` when it expires
    after it was heard. Return why it was refused, and where."""
    heard_ms = world.clock.now_ms()
    changes: dict[str, Any] = {"proposal_id": "p1", "ts_ms": heard_ms + off_ms} | more
    if until_ms:
        times = {"valid_from_ms": heard_ms, "valid_until_ms": heard_ms + until_ms}
        changes["time_window"] = times | {"max_duration_ms": 1_000}
    raw = json.dumps(a_document(MAIL, **changes)).encode()
    world.clock.advance(waited_ms / 1000)
    sender = replace(world.sender("leila"), heard_at_ms=heard_ms)
    answer = await world.workflow.submit(raw, sender)
    assert (answer.state is None) == bool(answer.errors)
    return (answer.errors[0].code, answer.errors[0].path) if answer.errors else None


@pytest.mark.parametrize(
    ("waited_ms", "off_ms", "refused"),
    [
        (SKEW_MS + 1, 0, None),
        (HOUR_MS, 0, None),
        (HOUR_MS, -SKEW_MS, None),
        (HOUR_MS, -SKEW_MS - 1, TOO_OLD),
        (HOUR_MS, HOUR_MS + SKEW_MS, None),
        (HOUR_MS, HOUR_MS + SKEW_MS + 1, TOO_OLD),
        (DAY_MS + SKEW_MS, 0, None),
        (DAY_MS + SKEW_MS + 1, 0, TOO_OLD),  # it would have expired long since
    ],
)
async def test_what_waited_is_as_old_as_when_it_was_heard(
    world: World, waited_ms: int, off_ms: int, refused: tuple[str, str] | None
) -> None:
    assert await answered(world, waited_ms, off_ms) == refused


@pytest.mark.parametrize("tier", [Tier.AUTO, Tier.AUTO_PLUS])
async def test_what_would_begin_by_itself_is_not_begun_so_late(world: World, tier: Tier) -> None:
    """Nobody would look at its age; its agent may long have done without it, or otherwise."""
    tools = world.workflow.policy.tools
    await world.adopts(tools={**tools, "search": replace(tools["search"], tier=tier)})
    assert await answered(world, SKEW_MS + 1, **SEARCH) == TOO_OLD
    assert await answered(world, SKEW_MS, **SEARCH) is None


@pytest.mark.parametrize("orchestrator", ["nour", None])
async def test_what_the_orchestrator_would_begin_is_not_begun_so_late(
    world: World, orchestrator: str | None
) -> None:
    await world.adopts(orchestrator=orchestrator)
    refused = await answered(world, HOUR_MS)
    assert refused == (None if orchestrator is None else TOO_OLD)


async def test_what_expired_while_it_waited_is_refused_as_over(world: World) -> None:
    refused = await answered(world, HOUR_MS, until_ms=HOUR_MS)
    assert refused == ("V-PROP-010", "time_window.valid_until_ms")


@pytest.mark.parametrize("off_ms", [-SKEW_MS, -SKEW_MS - 1])
async def test_a_look_beforehand_at_what_waited_says_what_would_be_answered(
    world: World, off_ms: int
) -> None:
    sender = replace(world.sender("leila"), heard_at_ms=world.clock.now_ms())
    raw = json.dumps(a_document(MAIL, ts_ms=world.clock.now_ms() + off_ms)).encode()
    world.clock.advance(HOUR_MS / 1000)

    beforehand = await world.workflow.check(raw, sender)

    assert beforehand.errors == (await world.workflow.submit(raw, sender)).errors
    assert bool(beforehand.errors) == (off_ms < -SKEW_MS)


async def test_what_did_not_wait_is_held_to_the_present(world: World) -> None:
    old_ms = world.clock.now_ms() - SKEW_MS - 1
    assert (await world.submits(ts_ms=old_ms)).reason == "implausible_time"


async def test_what_people_alone_let_begin_may_have_waited_whoever_orchestrates(
    world: World,
) -> None:
    await world.adopts(orchestrator="nour")
    assert await answered(world, HOUR_MS, approval_class="dual") is None


async def test_evidence_that_has_become_stale_while_it_waited_is_stale(world: World) -> None:
    await world.observes(True)
    refused = await answered(world, HOUR_MS, preconditions=[CONDITION])
    assert refused == ("V-PROP-013", "preconditions[0].evidence_ref")
