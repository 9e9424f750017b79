"""What a proposal says of its own time: it bounds the start, and nothing that follows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Verb
from lifecycle.state import State
from tests.builders import DAY_MS, MAIL, NOW_MS, PROD, REFUND
from tests.fakes.tools import raising
from tests.stories.permits import permitted
from tests.world import World

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def begins_within(minutes: float) -> dict[str, Any]:
    """The time window of a document that may begin for so long from noon on."""
    return {
        "valid_from_ms": NOW_MS,
        "valid_until_ms": NOW_MS + int(minutes * MINUTE_MS),
        "max_duration_ms": 30_000,
    }


async def lasts_ms(world: World, proposal_id: str, verb: Verb) -> int:
    """How long the first permit for this verb is good, in ms from when it was granted."""
    kept = await world.store.read(lambda tx: tx.permits.of(proposal_id, verb.value, 1))
    assert kept is not None
    return kept.expires_at_ms - world.clock.now_ms()


async def test_a_document_may_wait_longer_than_those_that_name_no_time(world: World) -> None:
    await world.submits(PROD, proposal_id="patient", time_window=begins_within(3 * 24 * 60))
    await world.submits(PROD, proposal_id="plain", parameters={"version": "v43"})

    await world.passes(minutes=2 * 24 * 60)
    states = [(await world.proposal(each)).state for each in ("patient", "plain")]
    assert states == [State.SENTINEL_APPROVED, State.REJECTED]

    await world.passes(minutes=24 * 60)
    ended = await world.proposal("patient")
    assert (ended.reason, ended.decided_at_ms) == ("expired", NOW_MS + 3 * DAY_MS)


@pytest.mark.parametrize("ms", [10_000, 29_999])
async def test_how_long_a_document_says_that_it_may_last_never_cuts_its_roll_back_short(
    world: World, ms: int
) -> None:
    timeout_s = world.workflow.policy.tools["send-email"].timeout_s
    await world.submits(time_window=begins_within(10) | {"max_duration_ms": ms})
    await world.approves("ana", "p1")
    world.tool("send-email").on["roll_back"] = raising(ToolFailed("busy"))
    await world.rejects("ben", "p1")
    await world.workflow.retry("p1", world.sender("ben"))
    await world.workflow.idle()

    called = world.tool("send-email").calls
    assert [call.verb for call in called] == ["execute", "roll_back", "roll_back"]
    assert [call.limit_s for call in called] == [ms / 1000, timeout_s, timeout_s]


async def test_a_permit_to_begin_ends_with_the_time_that_the_document_names(world: World) -> None:
    soon = await permitted(world, proposal_id="soon", time_window=begins_within(10))
    assert await lasts_ms(world, soon, Verb.EXECUTE) == 10 * MINUTE_MS
    later = await permitted(
        world,
        proposal_id="later",
        time_window=begins_within(120),
        parameters=REFUND["parameters"] | {"amount": "1.00"},
    )
    assert await lasts_ms(world, later, Verb.EXECUTE) == HOUR_MS


async def test_a_permit_to_try_again_ends_with_that_time_too(world: World) -> None:
    await world.submits(PROD, proposal_id="again", time_window=begins_within(10))
    world.tool("production-deploy").on["execute"] = raising(RuntimeError("cut off"))
    await world.approves("ana", "again")
    world.clock.advance(60)

    reply = await world.workflow.retry("again", world.sender("ben"))
    await world.workflow.idle()

    assert reply.done
    kept = await world.store.read(lambda tx: tx.permits.of("again", Verb.EXECUTE.value, 2))
    assert kept is not None
    assert kept.expires_at_ms == NOW_MS + 10 * MINUTE_MS


async def test_what_began_in_time_is_committed_and_taken_back_after_it(world: World) -> None:
    for proposal_id, body in (("sent", "Hello"), ("back", "Hello again")):
        await world.submits(
            MAIL,
            proposal_id=proposal_id,
            time_window=begins_within(10),
            parameters=MAIL["parameters"] | {"body": body},
        )
        await world.approves("ana", proposal_id)
    world.clock.advance(14 * 60)

    await world.rejects("ben", "back")
    assert await lasts_ms(world, "back", Verb.ROLL_BACK) == HOUR_MS
    await world.passes(minutes=1)
    assert await lasts_ms(world, "sent", Verb.COMMIT) == HOUR_MS

    ends = [(await world.proposal(each)).reason for each in ("sent", "back")]
    assert ends == ["window_closed_unopposed", "rolled_back_by_person"]


async def test_what_is_approved_within_a_freeze_period_waits_for_its_end(world: World) -> None:
    rules = world.workflow.policy.rules
    period = {"from": "2026-03-02T12:10:00Z", "until": "2026-03-02T12:20:00Z", "why": "stocktaking"}
    settings = rules["change_window_open"].settings | {"freezes": [period]}
    frozen = replace(rules["change_window_open"], settings=settings)
    await world.adopts(rules=rules | {"change_window_open": frozen})
    await world.submits(PROD, proposal_id="early")

    await world.passes(minutes=10)
    during = await world.submits(PROD, proposal_id="during", parameters={"version": "v43"})
    reply = await world.approves("ana", "early")
    await world.passes(minutes=9, seconds=59)

    assert (during.state, during.reason) == ("rejected", "change_window_open")
    waits = await world.proposal("early")
    assert (waits.state, waits.waiting_for) == (State.SENTINEL_APPROVED, "change_freeze")
    assert reply.done
    assert world.tool("production-deploy").verbs() == []
    await world.passes(seconds=6)
    assert world.tool("production-deploy").verbs() == ["execute"]


STAGING = PROD | {
    "tool": "staging-deploy",
    "target": PROD["target"] | {"domain": "staging.shop.example"},
}


@pytest.mark.parametrize("document", [MAIL, STAGING], ids=["deferred", "done"])
async def test_a_change_freeze_that_begins_within_a_window_takes_nothing_back(
    world: World, document: dict[str, Any]
) -> None:
    """What else a new policy forbids rolls back; what passes by itself does not (ADR 0025)."""
    await world.submits(document, proposal_id="p")
    await world.approves("ana", "p")
    rules = world.workflow.policy.rules
    period = {"from": "2026-03-02T12:00:00Z", "until": "2026-03-02T14:00:00Z", "why": "stocktaking"}
    settings = rules["change_window_open"].settings | {"freezes": [period]}
    frozen = replace(rules["change_window_open"], settings=settings)
    await world.adopts(rules=rules | {"change_window_open": frozen})
    await world.passes(minutes=16)

    ended = await world.proposal("p")
    assert (ended.state, ended.reason) == (State.COMPLETED, "window_closed_unopposed")
