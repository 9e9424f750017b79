"""Cases J01 to J03, J08, J11 and J13: a window lasts what it lasts, and closes once."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from bot import views
from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.clocks.clock import SystemClock
from bot.jobs import close_windows
from bot.jobs.scheduler import Scheduler
from lifecycle.ports import Call
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, NOW_MS, PROD
from tests.stage import in_memory
from tests.stories.forging import problems
from tests.world import World

SEND = "send-email"
#: A deployment acts at once: nothing is left to do when its window closes.
STAGED = PROD | {
    "tool": "staging-deploy",
    "target": PROD["target"] | {"domain": "staging.shop.example"},
}


async def opens(world: World, proposal_id: str = "p1", to: str = "pat@partner.example") -> None:
    parameters = MAIL["parameters"] | {"to": to}
    await world.submits(MAIL, proposal_id=proposal_id, parameters=parameters)
    await world.approves("ana", proposal_id)


async def state_of(world: World, proposal_id: str = "p1") -> State:
    return (await world.proposal(proposal_id)).state


async def test_J01_a_window_that_passed_while_we_were_down_closes_once_and_says_how_late(
    world: World,
) -> None:
    await opens(world)
    world.clock.advance(35 * 60)
    await world.restarts()
    await world.keeps_house()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert "Closed late, 20 min" in ended.explanation
    await world.restarts()
    await world.keeps_house()
    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.trail("p1")).count("complete") == 1


async def test_J02_after_a_restart_each_window_closes_at_its_own_time(world: World) -> None:
    await opens(world, "p1")
    world.clock.advance(14 * 60)
    await opens(world, "p2", "sam@partner.example")
    world.clock.advance(11 * 60)
    await world.restarts()
    await world.keeps_house()
    assert await state_of(world, "p1") is State.COMPLETED
    assert "Closed late, 10 min" in (await world.proposal("p1")).explanation
    assert await state_of(world, "p2") is State.EXECUTING

    await world.passes(minutes=3, seconds=59)
    assert await state_of(world, "p2") is State.EXECUTING
    await world.passes(seconds=1)

    assert await state_of(world, "p2") is State.COMPLETED
    assert "late" not in (await world.proposal("p2")).explanation


@pytest.mark.parametrize(
    ("late_ms", "is_late"), [(0, False), (5_000, False), (5_001, True), (1_200_000, True)]
)
@pytest.mark.parametrize(
    ("base", "closing"), [(MAIL, "commit_claimed"), (STAGED, "complete")], ids=["mail", "deploy"]
)
async def test_J01_every_closing_tells_how_late_it_is(
    world: World, base: dict[str, Any], closing: str, late_ms: int, *, is_late: bool
) -> None:
    await world.submits(base, proposal_id="p1")
    await world.approves("ana", "p1")
    world.clock.advance(15 * 60 + late_ms / 1000)
    await world.keeps_house()

    (told,) = [entry["details"] for entry in await world.audit(closing)]
    assert (told["late"], told["late_ms"]) == (is_late, late_ms)
    ended = await world.proposal("p1")
    assert ended.state is State.COMPLETED
    assert ("Closed late" in ended.explanation) is is_late
    assert await problems(world) == []


async def test_J03_a_loop_that_was_busy_over_the_due_time_closes_as_soon_as_it_is_free(
    tmp_path: Path,
) -> None:
    committed = asyncio.Event()

    async def commits(_call: Call) -> dict[str, Any]:
        committed.set()
        return {}

    async with in_memory(tmp_path) as world:
        world.tool(SEND).on["commit"] = commits
        await opens(world)
        scheduler = Scheduler([close_windows.JOB], world.workflow, SystemClock())
        scheduler.start()
        await asyncio.sleep(0)
        world.clock.advance(900)
        time.sleep(2.5)  # noqa: ASYNC251 - that the loop is blocked is what this is about
        async with asyncio.timeout(0.8):  # a round that is skipped comes a second later
            await committed.wait()
        await scheduler.stop(1)
        await world.workflow.idle()

        assert await state_of(world) is State.COMPLETED
        assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_J08_a_closing_that_finds_it_taken_back_does_nothing(world: World) -> None:
    await opens(world)
    world.clock.advance(900)
    picked = await world.proposal("p1")
    await world.rejects("ben", "p1")
    again = await world.rejects("ben", "p1")

    await world.workflow.closer._close_batch([picked])
    await world.passes(minutes=1)

    assert again.code == "already_decided"
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert await state_of(world) is State.ROLLED_BACK


async def test_J08_a_closing_that_finds_it_completed_by_hand_does_nothing(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL, proposal_id="p1")
    picked = await world.proposal("p1")
    await world.approves("ana", "p1")
    world.clock.advance(900)

    await world.workflow.closer._close_batch([picked])
    await world.passes(minutes=1)

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal("p1")).reason == "approved_early"


async def test_J11_a_closing_that_fails_again_and_again_is_overdue_announced_once_and_made_up_for(
    world: World,
) -> None:
    await opens(world)
    world.clock.advance(900)
    world.notifier.readable = False
    tried_after_s: list[int] = []
    told_after_s = None
    for second in range(120):
        looked = len(world.notifier.read)
        await world.workflow.close_due()
        tried_after_s += [second] * (len(world.notifier.read) - looked)
        told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
        if told_after_s is None and any("p1 is overdue" in str(m.body) for m in told):
            told_after_s = second
        world.clock.advance(1)

    late = await world.proposal("p1")
    page = await world.store.read(lambda tx: views.pending_page(tx, world.clock.now_ms()))
    assert tried_after_s == [0, 2, 6, 14, 30, 62]
    assert told_after_s == tried_after_s[4], "five failures, and not the first"
    assert (late.state, late.attention) == (State.EXECUTING, Attention.OVERDUE)
    assert [p.attention for p in page.executing] == [Attention.OVERDUE]
    assert len([m for m in told if "p1 is overdue" in str(m.body)]) == 1
    assert await problems(world) == []

    world.notifier.readable = True
    await world.passes(minutes=1)
    closed = await world.proposal("p1")
    assert (closed.state, closed.attention) == (State.COMPLETED, None)
    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_J13_one_absolute_end_is_stored_shown_and_kept(world: World) -> None:
    await world.adopts(orchestrator="nour")
    await world.submits(MAIL, proposal_id="p1")
    world.clock.advance(7 * 60)
    await world.workflow.freeze("look first", world.sender("ana"))
    assert (await world.approves("nour", "p1")).done
    world.clock.advance(60)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    mail = await world.proposal("p1")
    assert mail.execution is not None
    assert mail.execution.early  # it was auto-approved
    assert mail.execution.window_opens_at_ms == NOW_MS + 8 * 60_000
    assert mail.execution.window_closes_at_ms == NOW_MS + 23 * 60_000
    card = card_of(mail, Beside(world.workflow.policy, world.clock.now_ms(), ()))
    shown = [str(fact) for fact in card.facts if "12:23" in str(fact)]
    assert shown
    assert "UTC" in shown[0]
    assert not any("12:15" in str(fact) or "12:22" in str(fact) for fact in card.facts)
