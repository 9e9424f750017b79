"""What an approved proposal waits for stands in the trail: by its code, else in words."""

from __future__ import annotations

from typing import Any

from lifecycle import codes
from tests.builders import NOW_MS, PROD
from tests.world import World

HOUR_MS = 3_600_000


async def waits(world: World, proposal_id: str, **fields: Any) -> tuple[Any, dict[str, Any]]:
    """Approve what cannot begin yet; return reason and details of the entry that says why."""
    await world.submits(PROD, proposal_id=proposal_id, **fields)
    await world.approves("ben", proposal_id)
    entry = (await world.audit("waiting"))[-1]
    assert entry["proposal_id"] == proposal_id
    return entry["reason"], dict(entry["details"])


async def test_the_reason_of_every_wait_is_a_code_of_the_closed_list(world: World) -> None:
    """It was words such as `its card`, or the name of a field, where programs look for a code."""
    later = {
        "valid_from_ms": NOW_MS + HOUR_MS,
        "valid_until_ms": NOW_MS + 2 * HOUR_MS,
        "max_duration_ms": 30_000,
    }
    assert await waits(world, "p1", time_window=later) == (
        None,
        {"why": "its time to begin (valid_from_ms)"},
    )

    await world.workflow.freeze("incident", world.sender("ana"))
    assert await waits(world, "p2", parameters={"version": "v43"}) == ("frozen", {})

    reasons = {entry["reason"] for entry in await world.audit("waiting")}
    assert reasons - {None} <= codes.ALL


async def test_what_goes_on_waiting_is_told_once_however_often_it_is_looked_at(
    world: World,
) -> None:
    await world.workflow.freeze("incident", world.sender("ana"))
    assert await waits(world, "p1") == ("frozen", {})

    for _ in range(3):
        await world.workflow.gatekeeper.open("p1")

    assert len(await world.audit("waiting")) == 1
