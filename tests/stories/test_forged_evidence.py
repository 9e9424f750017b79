"""Somebody writes into the evidence: verification names it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Source
from tests.builders import MAIL
from tests.stories.forging import problems
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World

#: What somebody makes of a packet, and what is said of it.
FORGED = {
    "payload = '{\"ok\": true}'": "what was observed is not what entry",
    "observed_at_ms = observed_at_ms + 1": "it was not observed or recorded when entry",
    "recorded_at_ms = recorded_at_ms + 1": "it was not observed or recorded when entry",
    "source = 'other'": "it was recorded by other, entry",
    "payload = 'no JSON'": "what is kept of it cannot be read",
}


@pytest.mark.parametrize(("change", "said"), FORGED.items())
async def test_evidence_is_what_its_source_observed(
    on_disk: World, forged: Any, change: str, said: str
) -> None:
    await on_disk.observes(True)
    on_disk.clock.advance(1)
    await on_disk.observes(False)
    await on_disk.observes(0.5, "e2")
    assert await problems(on_disk) == []

    forged(f"UPDATE evidence SET {change} WHERE evidence_id = 'e1'")

    [named] = await problems(on_disk)
    assert named.startswith(f"evidence e1: {said}")


async def test_evidence_that_is_gone_or_that_nobody_recorded_is_named(
    on_disk: World, forged: Any
) -> None:
    await on_disk.observes(True)

    forged("UPDATE evidence SET evidence_id = 'e9'")

    assert [words[:24] for words in await problems(on_disk)] == [
        "evidence e1: it is gone,",
        "evidence e9: no entry te",
    ]


async def test_what_entries_of_older_versions_do_not_tell_is_not_compared(
    on_disk: World, forged: Any
) -> None:
    await on_disk.observes(True)

    forged("UPDATE audit SET details = json_remove(details, '$.payload')")

    # The link is broken by this; of the packet nothing is said.
    assert all(words.startswith("entry ") for words in await problems(on_disk))


NO_PACKETS = (
    *("payload = '{'", "payload = '[1]'", "payload = X'00ff'", "payload = CAST(X'ff' AS TEXT)"),
    "payload = ' ' || replace(hex(zeroblob(50000)), '0', '[')",
    *("observed_at_ms = 'noon'", "observed_at_ms = -1", "recorded_at_ms = 9223372036854775807"),
)
#: It holds of whatever is not there, so that an empty payload would satisfy it.
NOT_CLOSED = {"field": "closed", "operator": "ne", "value": True, "evidence_ref": "e1"}


@pytest.mark.parametrize("change", NO_PACKETS)
async def test_a_packet_that_cannot_be_read_satisfies_nothing_and_gives_way_to_the_next(
    on_disk: World, forged: Any, change: str
) -> None:
    """Its source could never record it again, and who named it was answered with a mistake."""
    world = on_disk
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[NOT_CLOSED])
    forged(f"UPDATE evidence SET {change}")

    await world.approves("ana", "m1")
    target = MAIL["target"] | {"resource_id": "another"}
    again = await world.submits(MAIL, proposal_id="m2", target=target, preconditions=[CONDITION])

    assert world.tool(SEND).verbs() == []
    assert again.state != "sentinel_approved"
    assert [words for words in await problems(world) if "cannot be read" in words]
    world.clock.advance(1)
    await world.observes(True)
    assert not [words for words in await problems(world) if "cannot be read" in words]


async def test_a_packet_that_cannot_be_read_still_belongs_to_its_source(
    on_disk: World, forged: Any
) -> None:
    world = on_disk
    sources = {name: Source(name) for name in ("crm-sensor", "other")}
    await world.adopts(sources=sources)
    await world.observes(True)
    forged("UPDATE evidence SET payload = '{'")
    packet = {"evidence_id": "e1", "source": "other", "observed_at_ms": world.clock.now_ms()}
    raw = json.dumps(packet | {"payload": {"ok": True}}).encode()

    reply = await world.workflow.record_evidence(raw, world.sender("other"))

    assert (reply.done, reply.code) == (False, "id_conflict")


async def test_a_packet_that_cannot_be_read_is_stale_also_where_evidence_counts_for_ever(
    on_disk: World, forged: Any
) -> None:
    """It counted as 56 years old, and what was bound to it was approved."""
    world = on_disk
    rules = dict(world.workflow.policy.rules)
    kept = rules["preconditions_hold"]
    for_ever = dict(kept.settings) | {"freshness_s": 10**10}
    await world.adopts(rules=rules | {"preconditions_hold": replace(kept, settings=for_ever)})
    await world.observes(True)
    forged("UPDATE evidence SET payload = '{'")

    bound = {"evidence_id": "e1", "binding_type": "precondition", "required": True}
    told = await world.submits(MAIL, proposal_id="m1", evidence_bindings=[bound])

    assert [fault.code for fault in told.errors] == ["V-PROP-013"]
    assert told.state != "sentinel_approved"
