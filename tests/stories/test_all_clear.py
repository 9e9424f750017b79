"""The all-clear: said once, when nothing waits to be written and there is room again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lifecycle.ports import Call, RowUnreadable
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.by_hand import by_hand
from tests.stories.unrecorded import FILE, break_audit, mend_audit
from tests.world import World

MAILER = "send-email"
#: A disk on which a small write still finds room, and no document does.
NEARLY_FULL = (
    "CREATE TRIGGER nearly_full BEFORE {} ON flags WHEN length(new.value) > 4096 "
    "BEGIN SELECT RAISE(FAIL, 'disk full'); END"
)


@pytest.fixture
def stage(on_disk: World) -> World:
    """The law over a real file, which a test can break."""
    return on_disk


def fill_nearly(folder: Path) -> None:
    by_hand(folder / FILE, NEARLY_FULL.format("INSERT"))
    by_hand(folder / FILE, NEARLY_FULL.format("UPDATE").replace("nearly", "very_nearly"))


def free(folder: Path) -> None:
    by_hand(folder / FILE, "DROP TRIGGER nearly_full")
    by_hand(folder / FILE, "DROP TRIGGER very_nearly_full")


async def small_write(stage: World) -> None:
    await stage.workflow.world.write(lambda tx: tx.flags.put("small", 1))


async def with_an_answer_that_waits(stage: World, folder: Path) -> str:
    """A mail was drafted, and that it was cannot be written."""
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""

    async def drafts(_: Call) -> dict[str, Any]:
        break_audit(folder)
        return {}

    stage.tool(MAILER).on["execute"] = drafts
    await stage.workflow.approve(proposal_id, stage.sender("ana"))
    await something_owed(stage)
    return proposal_id


async def something_owed(stage: World) -> None:
    """Wait until a write that must not be lost is to be tried again."""
    async with asyncio.timeout(20):
        while True:
            if stage.workflow.world.units.owed:
                return
            await asyncio.sleep(0)


async def test_a_small_write_is_no_all_clear_while_there_is_room_for_nothing_else(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    break_audit(tmp_path)
    await stage.approves("ana", proposal_id)
    fill_nearly(tmp_path)
    mend_audit(tmp_path)

    for _ in range(3):
        await small_write(stage)
    told = list(stage.notifier.alerts)
    since_ms = stage.workflow.world.troubles.unwritten.since_ms
    free(tmp_path)
    for _ in range(3):
        await small_write(stage)

    assert len(told) == 1
    assert since_ms is not None
    assert [words[:30] for words in stage.notifier.alerts[1:]] == ["The store can be written again"]
    assert await stage.store.read(lambda tx: tx.flags.get("room")) is None


async def test_a_small_write_is_no_all_clear_while_what_a_tool_did_waits_to_be_written(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = await with_an_answer_that_waits(stage, tmp_path)

    for _ in range(3):
        await small_write(stage)
    told = list(stage.notifier.alerts)
    mend_audit(tmp_path)
    await small_write(stage)
    still = list(stage.notifier.alerts)
    stage.clock.advance(60)
    await stage.workflow.idle()

    assert len(told) == len(still) == 1
    assert "The store can be written again" in stage.notifier.alerts[1]
    assert len(stage.notifier.alerts) == 2
    assert stage.workflow.world.units.owed == {}
    assert (await stage.proposal(proposal_id)).state is State.EXECUTING


async def test_a_row_that_cannot_be_read_holds_up_no_all_clear(
    stage: World, tmp_path: Path
) -> None:
    world = stage.workflow.world

    def gutted(_: object) -> None:
        raise RowUnreadable("p1 cannot be read.")

    waits = asyncio.create_task(world.write_until_taken(gutted))
    await something_owed(stage)
    break_audit(tmp_path)
    await stage.submits(PROD)
    mend_audit(tmp_path)
    await small_write(stage)
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)

    assert [words[:25] for words in stage.notifier.alerts] == [
        "The store cannot be writt",
        "The store can be written ",
    ]
    assert world.units.owed == {}


async def test_many_writes_at_once_give_one_all_clear(stage: World, tmp_path: Path) -> None:
    break_audit(tmp_path)
    await stage.submits(PROD)
    mend_audit(tmp_path)

    await asyncio.gather(*(small_write(stage) for _ in range(20)))
    await small_write(stage)

    assert len(stage.notifier.alerts) == 2


async def test_what_fails_while_it_is_tried_out_is_no_all_clear(
    stage: World, tmp_path: Path
) -> None:
    world = stage.workflow.world
    break_audit(tmp_path)
    await stage.submits(PROD)
    real = world.store.write

    async def write(unit: Any) -> Any:
        if not world.troubles.unwritten.looking:
            return await real(unit)
        world.troubles.unwritten.failed(stage.clock.now_ms(), "disk full again")
        return await real(unit)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.store, "write", write)
        await small_write(stage)

    assert len(stage.notifier.alerts) == 1
