"""A row that cannot be read stands in the way of none beside it, where evidence is judged too."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.cards.beside import noted
from lifecycle.copied import note_copy
from lifecycle.evidence import unjudged
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, REFUND
from tests.stories.permits import permitted, the_permit
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World

UNREADABLE = "UPDATE audit SET details = '{' WHERE proposal_id = 'm1'"
ANOTHER = MAIL | {"parameters": MAIL["parameters"] | {"body": "Another"}}


def nobody_knows(*_: Any) -> None:
    raise RuntimeError


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


@pytest.mark.parametrize("details", ["{", "[1]", "5", "null"])
async def test_a_card_is_shown_beside_a_trail_that_cannot_be_read(
    on_disk: World, forged: Any, details: str
) -> None:
    await on_disk.submits(MAIL, proposal_id="m1")
    await on_disk.approves("ana", "m1")
    forged(f"UPDATE audit SET details = '{details}' WHERE proposal_id = 'm1'")

    shown = await on_disk.store.read(lambda tx: noted(tx, "m1"))

    assert shown is not None
    assert (shown[0].proposal_id, shown[2]) == ("m1", None)


@pytest.mark.parametrize("details", ["{", "[1]", "5", "null"])
async def test_a_cross_beside_an_unreadable_trail_leaves_a_person_to_take_it_back(
    on_disk: World, forged: Any, details: str
) -> None:
    """With JSON that is no object the roll back ended in silence: executing, for nobody to see."""
    world = on_disk
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    forged(f"UPDATE audit SET details = '{details}' WHERE proposal_id = 'm1' AND seq = 2")

    assert (await world.rejects("ben", "m1")).done

    stuck = await world.proposal("m1")
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    assert world.tool(SEND).verbs() == ["execute"]


async def test_what_was_done_without_a_window_is_settled_although_its_trail_cannot_be_read(
    on_disk: World, forged: Any
) -> None:
    world, ben = on_disk, on_disk.sender("ben")
    proposal_id = await permitted(world)
    await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"], world.sender("leila")
    )
    await world.passes(minutes=60)
    forged(f"UPDATE audit SET details = '{{' WHERE proposal_id = '{proposal_id}'")

    assert (await world.workflow.settle(proposal_id, ben, happened=True)).done

    assert (await world.proposal(proposal_id)).state is State.COMPLETED


@pytest.mark.parametrize("verb", ["execute", "commit"])
async def test_who_retries_or_settles_beside_an_unreadable_trail_is_told_which_entry_it_is(
    on_disk: World, forged: Any, verb: str
) -> None:
    world, ben = on_disk, on_disk.sender("ben")
    world.tool(SEND).on[verb] = nobody_knows
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    await world.passes(minutes=16)
    before = await world.proposal("m1")
    assert before.attention is Attention.OUTCOME_UNKNOWN
    forged(UNREADABLE)

    replies = [await world.workflow.retry("m1", ben)]
    if verb == "execute":  # how long its window is stands in the trail alone
        replies.append(await world.workflow.settle("m1", ben, happened=True))

    for reply in replies:
        assert (reply.done, reply.code) == (False, "digest_mismatch")
        assert reply.words.startswith("Entry 2 of the audit trail cannot be read")
    assert await world.proposal("m1") == before
    assert world.tool(SEND).verbs().count(verb) == 1
