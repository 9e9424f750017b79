"""The freeze stops what acts, never what stops."""

from __future__ import annotations

import pytest

from lifecycle.state import State
from tests.builders import MAIL, PROD, UNSEEN
from tests.world import World


async def test_while_frozen_nothing_executes_and_after_thaw_it_goes_on(world: World) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    reply = await world.approves("ben", proposal_id)
    await world.passes(minutes=5)
    assert "frozen" in reply.words
    assert world.tool("production-deploy").calls == []

    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert world.tool("production-deploy").verbs() == ["execute"]


async def test_while_frozen_no_window_closes_and_roll_back_works(world: World) -> None:
    first = (await world.submits(MAIL)).proposal_id or ""
    second = (await world.submits(MAIL, parameters={"to": "sam@partner.example"})).proposal_id or ""
    await world.approves("ana", first)
    await world.approves("ana", second)
    await world.workflow.freeze("incident 7", world.sender("ana"))
    await world.passes(minutes=20)
    assert world.tool("send-email").verbs() == ["execute", "execute"]

    await world.rejects("ben", first)
    assert (await world.proposal(first)).state is State.ROLLED_BACK
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert (await world.proposal(second)).state is State.COMPLETED


@pytest.mark.parametrize("unsaid", [" ", *UNSEEN])
async def test_only_operators_freeze_with_a_reason_and_thaw(world: World, unsaid: str) -> None:
    codes = [
        (await world.workflow.freeze("why", world.sender("ben"))).code,
        (await world.workflow.freeze(unsaid, world.sender("ana"))).code,
        (await world.workflow.freeze("why", world.sender("leila"))).code,
    ]

    assert codes == ["not_an_operator", "reason_required", "not_an_operator"]


async def test_a_freeze_is_told_without_what_nobody_should_read(world: World) -> None:
    typed = "password=hunter2hunter2 \x1b]0;title\x07 then\nback\u202e"
    reply = await world.workflow.freeze(typed, world.sender("ana"))

    reason = r"password=‹secret, 14 characters› \u{1B}]0;title\u{7} then back\u{202E}"
    assert reply.words == f"Frozen by ana: {reason}. Nothing executes or commits until thaw."
    (told,) = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert told.body == {"text": reply.words}
    kept = typed.replace("hunter2hunter2", "‹secret, 14 characters›")
    assert [row["details"]["why"] for row in await world.audit("frozen")] == [kept]


async def test_after_thaw_what_is_due_goes_on_oldest_first(world: World) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    oldest_first = ["z-first", "m-second", "a-third"]
    for proposal_id in oldest_first:
        await world.submits(PROD, proposal_id=proposal_id, parameters={"version": proposal_id})
        world.clock.advance(31)
    for proposal_id in reversed(oldest_first):
        await world.approves("ana", proposal_id)

    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    deployed = [call.proposal_id for call in world.tool("production-deploy").calls]
    assert deployed == oldest_first
