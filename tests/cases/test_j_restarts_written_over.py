"""Case J12 over a restart: what somebody wrote over, or the store refuses, misleads no start."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.ports import StoreUnavailable
from tests.builders import NOW_MS
from tests.by_hand import by_hand
from tests.cases.machine import (
    MINUTE_MS,
    Machine,
    a_machine,
    closes_at_ms,
    moved,
    opens,
    status,
    told,
)
from tests.stories.forging import problems
from tests.world import World

OF_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


@pytest.fixture
async def machine(filed: World) -> Machine:
    """A machine on which the bot runs over a file, for the first time."""
    return await a_machine(filed)


async def test_a_window_that_somebody_wrote_by_hand_is_not_made_true_by_moving_it(
    machine: Machine, filed: World, tmp_path: Path
) -> None:
    await opens(filed, "p1")
    await opens(filed, "p2")
    forged = f"UPDATE proposals SET window_closes_at_ms = {NOW_MS + MINUTE_MS} WHERE proposal_id"
    by_hand(tmp_path / "signoff.db", f"{forged} = 'p1'")
    machine.is_set(55)
    await machine.starts()

    assert await moved(filed) == ["p2"]
    assert any("window's end" in each for each in await problems(filed))
    await machine.passes(1)
    assert filed.tool("send-email").verbs() == ["execute", "execute"]


async def test_a_note_of_the_clock_that_cannot_be_read_is_none(
    machine: Machine, filed: World, tmp_path: Path
) -> None:
    await opens(filed)
    for kept in (
        "7",
        "no JSON",
        '{"boot": "boot 1", "clocks": [[0]], "moved": {"at_ms": "x"}}',
        '{"boot": "boot 1", "clocks": [[0, -1e30]]}',
        '{"boot": "boot 1", "clocks": [[0, -9000000000000000000]]}',
        '{"boot": "boot 1", "clocks": [[0, NaN]]}',
    ):
        changed = f"UPDATE flags SET value = '{kept}' WHERE name = 'clock'"
        by_hand(tmp_path / "signoff.db", changed)
        machine.is_set(5)
        await machine.starts()
        await status(filed)

    assert await moved(filed) == []


async def test_a_row_that_cannot_be_moved_keeps_no_other_from_it(
    machine: Machine, filed: World, tmp_path: Path
) -> None:
    for proposal_id in ("p1", "p2", "p3"):
        await opens(filed, proposal_id)
    refuses = "BEGIN SELECT RAISE(ABORT, 'no') WHERE new.proposal_id = 'p2'; END"
    by_hand(tmp_path / "signoff.db", f"CREATE TRIGGER t BEFORE UPDATE ON proposals {refuses}")
    machine.is_set(55)
    await machine.starts()

    assert sorted(await moved(filed)) == ["p1", "p3"]
    assert "2 windows moved along" in (await told(filed))[0]
    assert filed.tool("send-email").verbs() == ["execute"] * 3


@pytest.mark.parametrize(
    "written",
    [
        "proposals SET version = 'x'",
        "proposals SET document = 7",
        "proposals SET window_closes_at_ms = 'x'",
        "audit SET details = json_set(details, '$.ahead_ms', 'x')",
        "audit SET details = json_set(details, '$.ahead_ms', -9000000000000000000)",
    ],
)
async def test_no_row_that_was_written_over_keeps_a_bot_from_starting_after_its_clock_was_set(
    machine: Machine, filed: World, tmp_path: Path, written: str
) -> None:
    await opens(filed, "p1")
    await opens(filed, "p2")
    for (trigger,) in by_hand(tmp_path / "signoff.db", OF_TRIGGERS):
        by_hand(tmp_path / "signoff.db", f"DROP TRIGGER {trigger}")
    by_hand(tmp_path / "signoff.db", f"UPDATE {written} WHERE proposal_id = 'p1'")
    machine.is_set(55)
    await machine.starts()

    assert await moved(filed) == ["p2"]
    assert await closes_at_ms(filed, "p2") == NOW_MS + (55 + 15) * MINUTE_MS


async def test_a_start_that_ends_on_its_way_moves_nothing_twice(
    machine: Machine, filed: World, tmp_path: Path
) -> None:
    await opens(filed)
    refuses = "BEGIN SELECT RAISE(ABORT, 'no') WHERE new.name = 'clock'; END"
    by_hand(tmp_path / "signoff.db", f"CREATE TRIGGER t BEFORE INSERT ON flags {refuses}")
    machine.is_set(55)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await machine.starts()
    by_hand(tmp_path / "signoff.db", "DROP TRIGGER t")
    await machine.starts()

    assert await moved(filed) == ["p1"]
    assert await closes_at_ms(filed) == NOW_MS + (55 + 15) * MINUTE_MS
    assert await problems(filed) == []
