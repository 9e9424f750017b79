"""Cases I03, I04, I06, I07, I09 and I13: moves that are cut short, come late or are not allowed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lifecycle.answers import Reply
from lifecycle.door import advance
from lifecycle.errors import IllegalTransition
from lifecycle.machine import _MACHINE, _Cursor, next_state
from lifecycle.people.acts import Act, Reviewed
from lifecycle.proposal import SENTINEL, Attention
from lifecycle.state import TRANSITIONS, State, Trigger
from lifecycle.tier import Puller
from tests.builders import MAIL, PROD
from tests.fakes.tools import waiting_for
from tests.world import World

DEPLOY = "production-deploy"


async def running(world: World, base: dict[str, Any] = PROD) -> asyncio.Event:
    """Bring p1 into the middle of its tool's run; the event lets the tool end."""
    gate = asyncio.Event()
    world.tool(base["tool"]).on["execute"] = waiting_for(gate)
    await world.submits(base, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    await asyncio.sleep(0)
    return gate


@pytest.mark.parametrize("base", [PROD, MAIL], ids=["PROD", "MAIL"])
async def test_I03_nothing_completes_what_is_half_done(world: World, base: dict[str, Any]) -> None:
    gate = await running(world, base)
    world.clock.advance(3600)
    for job in ("close_due", "expire_due", "open_ready", "recover", "remind"):
        await getattr(world.workflow, job)()
    await world.workflow.approve("p1", world.sender("ben"))
    assert (await world.proposal("p1")).state is State.EXECUTING

    gate.set()
    await world.workflow.idle()
    await world.passes(minutes=15)

    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(base["tool"]).verbs().count("execute") == 1


async def test_I03_what_the_end_of_the_process_cut_short_is_reported_not_completed(
    world: World,
) -> None:
    await running(world)
    await world.workflow.shut_down(0)
    await world.restarts()

    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN


@pytest.mark.parametrize("turns", range(8))
async def test_I04_a_cancelled_approval_holds_nothing_up(world: World, turns: int) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    approving = asyncio.create_task(world.workflow.approve("p1", world.sender("ana")))
    for _ in range(turns):
        await asyncio.sleep(0)
    approving.cancel()

    async with asyncio.timeout(10):
        reply = await world.rejects("ben", "p1")

    assert reply.done
    assert (await world.proposal("p1")).state is State.REJECTED
    assert world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("turns", range(8))
async def test_I04_whoever_leaves_does_not_stop_what_was_decided(world: World, turns: int) -> None:
    await world.submits(MAIL, proposal_id="p1")
    approving = asyncio.create_task(world.workflow.approve("p1", world.sender("ana")))
    for _ in range(turns):
        await asyncio.sleep(0)
    approving.cancel()
    await asyncio.gather(approving, return_exceptions=True)
    await world.workflow.idle()

    async with asyncio.timeout(10):
        await world.rejects("ben", "p1")

    ended = (await world.proposal("p1")).state
    verbs = world.tool("send-email").verbs()
    assert (verbs, ended) in [
        ([], State.REJECTED),
        (["execute", "roll_back"], State.ROLLED_BACK),
    ]


async def test_I06_a_late_signal_is_answered_and_changes_nothing(roomy: World) -> None:
    gate = await running(roomy)
    second = await roomy.workflow.approve("p1", roomy.sender("ben"))
    gate.set()
    await roomy.workflow.idle()
    roomy.tool(DEPLOY).on.clear()
    target = PROD["target"] | {"resource_id": "other"}
    await roomy.submits(PROD, proposal_id="p2", target=target)
    await roomy.rejects("ana", "p2")
    before = [await roomy.proposal(each) for each in ("p1", "p2")]

    late = [
        await roomy.approves("ben", "p1"),
        await roomy.rejects("ben", "p2"),
        await roomy.approves("ben", "p2"),
        await roomy.workflow.take_back("p1", roomy.sender("ana")),
        await roomy.workflow.withdraw("p2", roomy.sender("leila")),
    ]

    assert {reply.code for reply in (second, *late)} == {"already_decided"}
    assert "person ana" in second.words
    assert "person ana" in late[1].words
    assert [await roomy.proposal(each) for each in ("p1", "p2")] == before
    assert roomy.tool(DEPLOY).verbs() == ["execute"]


EDGES = {(row.source, row.target) for row in TRANSITIONS}


def test_I07_of_36_pairs_of_states_only_six_are_a_way() -> None:
    reachable = set()
    for source in State:
        for trigger in Trigger:
            try:
                reachable.add((source, next_state(source, trigger)))
            except IllegalTransition:
                continue
    assert reachable == EDGES
    assert len(EDGES) == 6


def test_I07_the_library_adds_no_way_of_its_own() -> None:
    assert set(_MACHINE.events) == {trigger.value for trigger in Trigger}
    assert not [name for name in dir(_Cursor(State.PENDING)) if name.startswith(("to_", "may_"))]


@pytest.mark.parametrize(
    ("end", "trigger"),
    [
        ("pending", Trigger.COMPLETE),
        ("rejected", Trigger.EXECUTE),
        ("completed", Trigger.ROLL_BACK),
        ("rolled_back", Trigger.COMPLETE),
    ],
)
async def test_I07_a_jump_raises_is_audited_and_leaves_the_row_alone(
    world: World, end: str, trigger: Trigger
) -> None:
    await reaches(world, end)
    before = await world.proposal("p1")

    def jump(tx: Any, moment: Any, act: Act) -> Reviewed:
        moved = advance(
            tx, moment, tx.proposals.get("p1"), trigger, SENTINEL, Puller.PERSON, reason="x"
        )
        return Reviewed(Reply("moved"), moved)

    reply = await world.workflow.acting.act(Act("p1", world.sender("ana")), jump)

    assert reply.code == "illegal_transition"
    assert await world.proposal("p1") == before
    assert "illegal_transition" in [entry["reason"] for entry in await world.audit("ignored")]


async def reaches(world: World, end: str) -> None:
    """Bring p1 to one of its ends; `pending` is as far as sentinel_approved here."""
    await world.submits(MAIL, proposal_id="p1")
    match end:
        case "rejected":
            await world.rejects("ana", "p1", "no")
        case "completed":
            await world.approves("ana", "p1")
            await world.passes(minutes=15)
        case "rolled_back":
            await world.approves("ana", "p1")
            await world.rejects("ana", "p1", "no")
        case _:
            return


@pytest.mark.parametrize("end", ["completed", "rejected", "rolled_back"])
async def test_I09_after_the_end_five_quick_reactions_change_nothing(
    world: World, end: str
) -> None:
    await reaches(world, end)
    before, calls = await world.proposal("p1"), world.tool("send-email").verbs()
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    attempts = [("ana", "✅"), ("ben", "❌"), ("ana", "❌"), ("ben", "✅"), ("ana", "✅")]

    replies = [await world.reacts(who, "p1", emoji) for who, emoji in attempts]
    rows = await world.audit("ignored")
    await world.passes(minutes=24 * 60)

    assert not any(reply.done for reply in replies)
    assert len(rows) == len(attempts)
    assert await world.proposal("p1") == before
    assert world.tool("send-email").verbs() == calls
    still = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [m.key for m in still] == [m.key for m in told]


async def test_I13_cards_still_work_after_a_restart(roomy: World) -> None:
    others = [PROD["target"] | {"resource_id": f"www-{number}"} for number in (1, 2)]
    await roomy.submits(MAIL, proposal_id="p1")
    for number, target in enumerate(others, 2):
        await roomy.submits(PROD, proposal_id=f"p{number}", target=target)
    await roomy.restarts()

    replies = [
        await roomy.reacts("ana", "p1", "✅"),
        await roomy.reacts("ana", "p2", "✅"),
        await roomy.reacts("ben", "p3", "❌"),
    ]
    opened = (await roomy.proposal("p1")).execution
    assert opened is not None
    await roomy.passes(minutes=14)
    await roomy.restarts()

    assert all(reply.done for reply in replies)
    assert (await roomy.proposal("p1")).execution == opened
    await roomy.passes(seconds=59)
    assert (await roomy.proposal("p1")).state is State.EXECUTING
    await roomy.passes(seconds=1)
    states = [(await roomy.proposal(each)).state for each in ("p1", "p2", "p3")]
    assert states == [State.COMPLETED, State.COMPLETED, State.REJECTED]
