"""Somebody writes into what the bot notes for itself: a freeze, a copy, a task, evidence."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.clockwork.restored import bring_back
from lifecycle.verdicts.fingerprints import POLICY_FLAG, digest_in_force
from tests.builders import MAIL, PROD
from tests.stories.forging import problems, refused
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World

BY_HAND = """'{"reason": "be still", "by": "ana", "at_ms": 1772452800000}'"""


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def test_a_freeze_that_nobody_asked_for_is_named(world: World, forged: Any) -> None:
    await world.submits(PROD)
    assert await problems(world) == []

    forged(f"INSERT OR REPLACE INTO flags (name, value) VALUES ('freeze', {BY_HAND})")

    assert await problems(world) == ["freeze: it is in force, and no entry tells of it"]


@pytest.mark.parametrize("written", ["json_remove(value, '$.at_ms')", '\'{"at_ms": "noon"}\''])
async def test_a_note_of_a_copy_that_tells_no_time_is_named_and_hides_nothing_else(
    world: World, forged: Any, written: str
) -> None:
    await world.submits(PROD)
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.workflow.thaw(world.sender("ana"))
    assert await problems(world) == []

    forged(f"UPDATE flags SET value = {written} WHERE name = 'restored'")
    forged("UPDATE proposals SET surface = 'slack'")

    said = [words.partition(":")[0] for words in await problems(world)]
    assert sorted(said) == ["copy", "proposal p1"]


async def test_a_task_stands_for_nothing_that_has_not_ended(world: World, forged: Any) -> None:
    await world.submits(PROD, proposal_id="refused", task_id="t9")
    await world.rejects("ben", "refused")
    await world.submits(PROD, proposal_id="waits", task_id="t9", parameters={"version": "v43"})
    assert await problems(world) == []

    forged("UPDATE tasks SET proposal_id = 'waits'")

    assert sorted(await problems(world)) == [
        "proposal refused: its task t9 stands for waits, which did not settle it",
        "proposal waits: its task t9 is backlog for it, and it has not ended",
    ]


async def test_nothing_begins_whose_evidence_was_untied_from_it(world: World, forged: Any) -> None:
    await world.observes(True)
    await world.workflow.freeze("look first", world.sender("ana"))
    await world.submits(MAIL, preconditions=[CONDITION])
    await world.approves("ana", "p1")
    forged("DELETE FROM bindings")

    await world.workflow.thaw(world.sender("ana"))

    await refused(world, "p1", SEND)


@pytest.mark.parametrize(
    ("written", "told"), [("\udce4", "?"), ("a" * 9_000, "a" * 2_000), (7, "")]
)
async def test_the_digest_of_the_policy_in_force_fits_the_trail_whatever_somebody_wrote(
    world: World, written: object, told: str
) -> None:
    await world.store.write(lambda tx: tx.flags.put(POLICY_FLAG, written))

    assert await world.store.read(digest_in_force) == told
