"""Case J12 over a restart: what is open and moves no further than it must (ADR 0022)."""

from __future__ import annotations

from pathlib import Path

from tests.builders import NOW_MS, PROD
from tests.by_hand import by_hand
from tests.cases.machine import MINUTE_MS, a_machine, moved
from tests.stories.forging import problems
from tests.world import World


async def test_a_deadline_that_somebody_wrote_by_hand_is_not_made_true_by_moving_it(
    filed: World, tmp_path: Path
) -> None:
    machine = await a_machine(filed)
    await filed.submits(PROD, proposal_id="p1")
    await filed.submits(PROD, proposal_id="p2", parameters={"v": "2"})
    forged = f"UPDATE proposals SET deadline_ms = {NOW_MS + MINUTE_MS} WHERE proposal_id = 'p1'"
    by_hand(tmp_path / "signoff.db", forged)
    machine.is_set(55)
    await machine.starts()

    assert await moved(filed) == ["p2"]
    assert any("p1" in each for each in await problems(filed))
