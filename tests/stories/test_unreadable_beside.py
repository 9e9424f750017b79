"""A row that cannot be read stands in the way of none beside it, where evidence is judged too."""

from __future__ import annotations

from typing import Any

from lifecycle.copied import note_copy
from lifecycle.evidence import unjudged
from lifecycle.state import State
from tests.builders import MAIL
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World

UNREADABLE = "UPDATE audit SET details = '{' WHERE proposal_id = 'm1'"
ANOTHER = MAIL | {"parameters": MAIL["parameters"] | {"body": "Another"}}


async def waits_in_a_freeze(world: World) -> None:
    """Let m1 rest on evidence, approved, while everything is frozen."""
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])
    await world.workflow.freeze("looking", world.sender("ana"))
    await world.approves("ana", "m1")


async def test_an_entry_that_cannot_be_read_keeps_no_evidence_unjudged(
    on_disk: World, forged: Any
) -> None:
    world = on_disk
    await waits_in_a_freeze(world)
    await world.workflow.thaw(world.sender("ana"))
    forged(UNREADABLE)
    await world.submits(ANOTHER, proposal_id="m2", preconditions=[CONDITION])
    await world.approves("ana", "m2")
    assert (await world.proposal("m2")).state is State.EXECUTING
    world.clock.advance(1)
    await world.observes(True)
    await world.passes(seconds=901)
    assert await world.store.read(unjudged) == []
    assert (await world.proposal("m2")).state is State.COMPLETED
    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_a_start_does_not_fail_for_an_entry_that_cannot_be_read(
    on_disk: World, forged: Any
) -> None:
    world = on_disk
    await waits_in_a_freeze(world)
    forged(UNREADABLE)
    await world.store.write(lambda tx: tx.flags.put("evidence_to_judge", ["e1"]))
    await world.store.write(lambda tx: tx.flags.put("freeze", None))
    await world.restarts()
    await world.workflow.recover()
    assert await world.store.read(unjudged) == []


async def test_an_entry_of_a_copy_that_cannot_be_read_keeps_no_other_proposal_out(
    on_disk: World, forged: Any
) -> None:
    world = on_disk
    await world.submits(MAIL, proposal_id="m1")
    await world.store.write(lambda tx: note_copy(tx, world.workflow.world.moment()))
    forged(UNREADABLE)
    world.clock.advance(2 * 86_400)

    answer = await world.submits(ANOTHER, proposal_id="m2")

    assert answer.state == "sentinel_approved"
    assert (await world.proposal("m1")).reason == "expired"
