"""Windows that stand beside one whose row the database refuses: they close while it still does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.jobs.close_windows import JOB as CLOSING
from bot.jobs.scheduler import Round
from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.fakes.tools import waiting_for
from tests.stories.forging import problems
from tests.stories.hearing import heard
from tests.world import World

FORBID = (
    "CREATE TRIGGER forbids BEFORE INSERT ON audit WHEN new.proposal_id = 'p1' "
    "BEGIN SELECT RAISE(ABORT, 'not p1'); END"
)


@pytest.fixture
async def stage(on_disk: World) -> World:
    """Two mails in their windows: p1, and p2, which closes a second later."""
    await on_disk.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await on_disk.submits(MAIL)
    on_disk.clock.advance(1)
    another = MAIL["parameters"] | {"subject": "Two"}
    await on_disk.submits(MAIL, proposal_id="p2", parameters=another)
    return on_disk


async def test_a_window_closes_in_the_same_round_as_one_whose_row_is_refused(
    stage: World, forged: Any
) -> None:
    forged(FORBID)
    stage.clock.advance(901)

    await Round(CLOSING, stage.workflow, stage.clock).run()
    await stage.workflow.idle()

    assert (await stage.proposal("p2")).state is State.COMPLETED
    assert (await stage.proposal("p1")).state is State.EXECUTING


async def test_people_are_told_of_a_window_that_a_stop_holds_open_beside_such_a_row(
    stage: World, forged: Any
) -> None:
    for each in ("p1", "p2"):
        await heard(stage, f"surface of {each}", proposal_id=each)
    forged(FORBID)
    stage.clock.advance(901)

    closing = Round(CLOSING, stage.workflow, stage.clock)
    await closing.run()
    await stage.workflow.idle()

    assert "not_closed" in await stage.trail("p2")
    assert (await stage.proposal("p2")).retry_at_ms is not None
    assert ["trigger" in words for words in await problems(stage)] == [True]
    assert (await stage.proposal("p2")).state is State.EXECUTING


async def test_what_was_closed_is_carried_out_although_the_store_fails_right_behind_it(
    stage: World, forged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed, gate = stage.store.write, [], asyncio.Event()
    stage.tool("send-email").on["commit"] = waiting_for(gate)

    async def write(unit: Any) -> Any:
        if "commit_claimed" in await stage.trail("p1") and not failed:
            failed.append(unit)
            raise StoreUnavailable("the disk is full")
        return await real(unit)

    monkeypatch.setattr(stage.store, "write", write)
    forged(FORBID.replace("p1", "p2"))
    stage.clock.advance(901)

    await Round(CLOSING, stage.workflow, stage.clock).run()
    gate.set()
    await stage.workflow.idle()

    assert failed
    assert (await stage.proposal("p1")).state is State.COMPLETED
