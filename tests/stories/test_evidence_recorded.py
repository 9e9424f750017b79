"""What is recorded as evidence was seen at a time that can be meant, by who records it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.world import World

AHEAD_MS = 600_000


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ahead_ms": AHEAD_MS}, None),
        ({"ahead_ms": AHEAD_MS + 1}, "implausible_time"),
        ({"observed_at_ms": 1}, None),
        ({"observed_at_ms": 0}, "implausible_time"),
        ({"observed_at_ms": -1}, "implausible_time"),
        ({"observed_at_ms": True}, "wrong_type"),
        ({"observed_at_ms": "1772452800000"}, "wrong_type"),
        ({"observed_at_ms": None}, "wrong_type"),
        ({"payload": ["ok"]}, "wrong_type"),
        ({"source": "other"}, "actor_mismatch"),
        ({"evidence_id": ".."}, "invalid_identifier"),
        ({"evidence_id": 7}, "invalid_identifier"),
        ({"evidence_id": None}, "invalid_identifier"),
    ],
)
async def test_nothing_is_recorded_of_another_time_or_form_or_in_anothers_name(
    world: World, changes: dict[str, Any], code: str | None
) -> None:
    ahead_ms = changes.get("ahead_ms", 0)
    packet = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": world.clock.now_ms() + ahead_ms,
        "payload": {"ok": True},
    } | {key: value for key, value in changes.items() if key != "ahead_ms"}

    raw = json.dumps(packet).encode()
    reply = await world.workflow.record_evidence(raw, world.sender("crm-sensor"))

    kept = await world.store.read(lambda tx: tx.evidence.get("e1"))
    assert reply.code == code
    assert (kept is None) == (code is not None)
    wrong = next(iter(changes)).replace("ahead_ms", "observed").removesuffix("_at_ms")
    assert code is None or wrong in reply.words  # people see the words, and not the path
