"""Stopping works without a record: a stop is spooled, holds at once and is replayed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.spool import MemorySpool
from tests.stories.unrecorded import break_audit, mend_audit
from tests.world import World


@pytest.fixture
def stage(on_disk: World) -> World:
    """The law over a real file, whose audit table a test can break."""
    return on_disk


async def test_L08_a_rejection_is_spooled_holds_at_once_and_is_replayed(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD, approval_class="dual")).proposal_id or ""
    await stage.approves("ana", proposal_id)
    break_audit(tmp_path)
    reply = await stage.rejects("ben", proposal_id, "stop")
    assert "Kept" in reply.words
    mend_audit(tmp_path)
    await stage.workflow.approve(proposal_id, stage.sender("dee"))
    await stage.workflow.idle()
    assert stage.tool("production-deploy").calls == []

    await stage.workflow.recover()

    ended = await stage.proposal(proposal_id)
    assert (ended.state, ended.explanation) == (State.REJECTED, "stop")
    assert stage.spool.stops == []


async def test_L08_a_roll_back_is_spooled_and_no_window_closes_meanwhile(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    stage.clock.advance(900)
    assert await stage.workflow.close_due() == 0

    await stage.workflow.recover()
    await stage.workflow.idle()

    assert stage.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await stage.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_spooled_stop_survives_the_process(stage: World, tmp_path: Path) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)

    await stage.restarts()

    assert (await stage.proposal(proposal_id)).state is State.REJECTED


class FullSpool(MemorySpool):
    """A spool on a disk that is full."""

    full = True

    def keep(self, stop: Mapping[str, Any]) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().keep(stop)


@pytest.mark.parametrize("spool_mends", [True, False])
async def test_L08_a_stop_that_neither_store_nor_spool_can_take_is_carried_out_once_one_can(
    stage: World, tmp_path: Path, spool_mends: bool
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.workflow.world.spool = spool = FullSpool()
    break_audit(tmp_path)
    reply = await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    stage.clock.advance(900)
    assert await stage.workflow.close_due() == 0
    spool.full = not spool_mends

    await stage.workflow.recover()
    await stage.workflow.idle()

    assert "carried out as soon as" in reply.words
    assert stage.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await stage.proposal(proposal_id)).reason == "rolled_back_by_person"
    assert (stage.workflow.world.held, stage.workflow.world.unspooled) == (set(), [])


async def test_a_bot_that_ends_spools_what_it_had_in_memory_alone(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    stage.workflow.world.spool = spool = FullSpool()
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    spool.full = False

    await stage.workflow.shut_down(1)

    assert [stop["proposal_id"] for stop in spool.stops] == [proposal_id]
