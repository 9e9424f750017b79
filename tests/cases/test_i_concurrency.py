"""Cases I01, I02, I12 and K07: several people at the same moment, one outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifecycle.answers import CardPlace, Reply
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import waiting_for
from tests.roads import trail_of
from tests.roomy import a_roomy_policy
from tests.stage import staged
from tests.world import World

DEPLOY = "production-deploy"
REPETITIONS, AT_ONCE = 1_000, 100


class SlowStore:
    """Passes everything on, some turns of the loop later; a slow disk."""

    def __init__(self, store: Any, turns: int) -> None:
        self._store, self._turns = store, turns

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        await self._waits()
        value = await self._store.write(unit)
        await self._waits()
        return value

    async def read(self, view: Callable[[Any], Any]) -> Any:
        await self._waits()
        return await self._store.read(view)

    async def close(self) -> None:
        await self._store.close()

    async def _waits(self) -> None:
        for _ in range(self._turns):
            await asyncio.sleep(0)


async def a_deploy(world: World, number: int, **changes: Any) -> str:
    target = PROD["target"] | {"resource_id": f"www-{number}"}
    return (await world.submits(PROD, target=target, **changes)).proposal_id or ""


@pytest.mark.parametrize("database", ["memory:", "sqlite:///signoff.db"], ids=["memory", "sqlite"])
async def test_I01_two_approvals_at_once_are_one_execution_every_time(
    tmp_path: Path, database: str
) -> None:
    both_heard = asyncio.Event()  # as long the tool takes
    async with staged(database, tmp_path, a_roomy_policy()) as world:
        world.tool(DEPLOY).on["execute"] = waiting_for(both_heard)
        for start in range(0, REPETITIONS, AT_ONCE):
            both_heard.clear()
            some = [await a_deploy(world, number) for number in range(start, start + AT_ONCE)]
            replies = await asyncio.gather(*(_both_react(world, one) for one in some))
            both_heard.set()
            await world.workflow.idle()
            for one, pair in zip(some, replies, strict=True):
                _loser_knows(pair, one)
                assert (await world.proposal(one)).state is State.COMPLETED
                assert (await world.trail(one)).count("execute") == 1
        called = [call.proposal_id for call in world.tool(DEPLOY).calls]
        assert len(called) == len(set(called)) == REPETITIONS


async def _both_react(world: World, proposal_id: str) -> list[Reply]:
    """Let ana and ben put a ✅ on the card in the same moment."""
    card = CardPlace("terminal", f"m-{proposal_id}")
    both = (
        world.workflow.approve(proposal_id, world.sender(who), card=card) for who in ("ana", "ben")
    )
    return list(await asyncio.gather(*both))


def _loser_knows(replies: list[Reply], proposal_id: str) -> None:
    """Whoever came second is told who opened it."""
    first = [reply for reply in replies if reply.done and "1 of 1" in reply.words]
    assert len(first) == 1, replies
    (second,) = [reply for reply in replies if reply is not first[0]]
    winner = "ana" if "ana" in first[0].words else "ben"
    assert f"person {winner}" in second.words, second


@pytest.mark.parametrize("approval_first", [True, False])
@pytest.mark.parametrize("turns", [0, 1, 3, 7])
@pytest.mark.parametrize("base", [PROD, MAIL], ids=["PROD", "MAIL"])
async def test_I02_approve_and_reject_together_have_one_outcome(
    roomy: World, approval_first: bool, turns: int, base: dict[str, Any]
) -> None:
    world, tool = roomy, roomy.tool(base["tool"])
    await world.submits(base, proposal_id="p1")
    world.workflow.world.store = SlowStore(world.store, turns)  # type: ignore[assignment]
    acts = [
        world.workflow.approve("p1", world.sender("ana")),
        world.workflow.reject("p1", world.sender("ben"), "no"),
    ]
    await asyncio.gather(*(acts if approval_first else acts[::-1]))
    await world.workflow.idle()
    world.workflow.world.store = world.store
    await world.passes(minutes=15)

    ended = await world.proposal("p1")
    match ended.state:
        case State.REJECTED:
            assert tool.calls == []
        case State.ROLLED_BACK:
            assert tool.verbs() == ["execute", "roll_back"]
        case _:
            assert base is PROD
            assert tool.verbs() == ["execute"]
    entries = await world.store.read(lambda tx: trail_of(tx, "p1"))
    final = [e for e in entries if e.event.target in ("rejected", "completed", "rolled_back")]
    assert [entry.event.target for entry in final] == [ended.state.value]
    card = await world.store.read(lambda tx: tx.cards.get("p1", "terminal"))
    assert card is not None
    assert card.shown_version == card.wanted_version == ended.version


async def test_I12_a_decision_reaches_the_proposal_it_names_and_no_other(roomy: World) -> None:
    first, second, third = [await a_deploy(roomy, number) for number in range(3)]

    await roomy.reacts("ana", second, "✅")
    await roomy.reacts("ana", third, "❌")

    states = [(await roomy.proposal(each)).state for each in (first, second, third)]
    assert states == [State.SENTINEL_APPROVED, State.COMPLETED, State.REJECTED]
    assert [call.proposal_id for call in roomy.tool(DEPLOY).calls] == [second]


@pytest.mark.parametrize("people", [("ana", "ben"), ("ben", "ana"), ("olga", "ana"), ("ana",) * 3])
async def test_K07_crosses_at_the_same_moment_take_back_once(
    roomy: World, people: tuple[str, ...]
) -> None:
    await roomy.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await roomy.submits(MAIL, proposal_id="p1")
    gate = asyncio.Event()
    roomy.tool("send-email").on["roll_back"] = waiting_for(gate)

    replies = await asyncio.gather(
        *(roomy.workflow.reject("p1", roomy.sender(who), "no") for who in people)
    )
    late = await roomy.workflow.reject("p1", roomy.sender("dee"), "no")
    gate.set()
    await roomy.workflow.idle()

    assert sum(reply.done for reply in replies) == 1
    assert late.code == "already_decided"
    assert roomy.tool("send-email").verbs() == ["execute", "roll_back"]
    told = await roomy.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert len([m for m in told if m.kind == "ended"]) == 1
