"""A row that the database refuses is a fault of that act; the store itself is well."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from bot.jobs.close_windows import JOB as CLOSING
from bot.jobs.expire import JOB as EXPIRING
from bot.jobs.open_ready import JOB as BEGINNING
from bot.jobs.remind import JOB as REMINDING
from bot.jobs.scheduler import Round
from lifecycle.ports import Call, RowRefused, Transaction
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.stories.unrecorded import break_audit
from tests.world import World

#: Somebody put a condition of their own onto one proposal.
FORBID = (
    "CREATE TRIGGER forbids BEFORE INSERT ON audit WHEN new.proposal_id = 'p1' "
    "BEGIN SELECT RAISE(ABORT, 'not p1'); END"
)
ANOTHER = PROD | {"target": PROD["target"] | {"resource_id": "another"}}


@pytest.fixture
def stage(on_disk: World) -> World:
    return on_disk


async def told(stage: World, times: int) -> None:
    """Let time pass until people were told so often."""
    async with asyncio.timeout(20):
        while len(stage.notifier.alerts) < times:
            stage.clock.advance(0.5)
            await asyncio.sleep(0)


async def test_an_approval_whose_row_is_refused_is_told_as_its_own_fault_and_nothing_else_waits(
    stage: World, forged: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.submits(PROD)
    await stage.submits(ANOTHER, proposal_id="p2")
    forged(FORBID)

    with caplog.at_level(logging.ERROR, "signoff.storage"):
        replies = [await stage.approves("ana", "p1") for _ in range(2)]
    other = await stage.approves("ana", "p2")

    for reply in replies:
        assert reply.code == "audit_unavailable"
        assert "refuses a row of this: not p1" in reply.words
        assert "the same again will be refused again" in reply.words
    assert (await stage.proposal("p1")).state is State.SENTINEL_APPROVED
    assert other.done
    assert stage.notifier.alerts == []
    assert stage.workflow.world.troubles.unwritten.words() is None
    (logged, *_) = [words for words in caplog.messages if "was refused" in words]
    assert logged.startswith("a row of lifecycle/acting.py:")
    assert "IntegrityError at storage/" in logged


async def test_a_document_whose_row_is_refused_is_told_so_without_the_names_of_tables(
    stage: World, forged: Any
) -> None:
    forged(FORBID)

    answer = await stage.submits(PROD)

    assert (answer.reason, answer.state) == ("audit_unavailable", None)
    words = answer.errors[0].suggestion or ""
    assert "refuses a row of this" in words
    assert "not p1" not in words
    assert stage.notifier.alerts == []


async def test_a_stop_whose_row_is_refused_is_kept_and_carried_out_once_the_row_is_taken(
    stage: World, forged: Any
) -> None:
    await stage.submits(PROD)
    forged(FORBID)

    reply = await stage.rejects("ben", "p1")
    await stage.keeps_house()
    held = set(stage.workflow.world.held)
    forged("DROP TRIGGER forbids")
    await stage.keeps_house()

    assert reply.done
    assert reply.words.startswith("Kept: The database refuses a row of this: not p1.")
    assert held == {"p1"}
    assert stage.notifier.alerts == []
    assert (await stage.proposal("p1")).reason == "rejected_by_person"
    assert stage.workflow.world.held == set()


async def test_where_no_entry_of_the_trail_is_taken_it_is_the_store_that_cannot_be_written(
    stage: World, forged: Any, tmp_path: Any
) -> None:
    """Small writes of another kind are no all-clear: nothing can be recorded."""
    await stage.submits(PROD)
    break_audit(tmp_path)

    for _ in range(3):
        reply = await stage.approves("ana", "p1")
        await stage.workflow.world.write(lambda tx: tx.flags.put("small", 1))

    assert "The audit trail cannot be written" in reply.words
    (told,) = stage.notifier.alerts
    assert told.startswith("The store cannot be written since")


async def test_a_tools_answer_that_is_refused_calls_people_and_has_its_all_clear(
    stage: World, forged: Any
) -> None:
    await stage.submits(MAIL)

    async def drafts(_: Call) -> dict[str, Any]:
        forged(FORBID)
        return {}

    stage.tool("send-email").on["execute"] = drafts
    await stage.workflow.approve("p1", stage.sender("ana"))
    await told(stage, 1)
    forged("DROP TRIGGER forbids")
    await told(stage, 2)

    words = stage.notifier.alerts[0]
    assert words.startswith("Writing down what must not be lost failed")
    assert "not p1" in words
    assert stage.notifier.alerts[1].startswith("Writing down what must not be lost works again")
    assert (await stage.proposal("p1")).execution is not None


async def test_a_round_that_meets_a_refused_row_is_told_as_that_jobs_and_not_as_the_stores(
    stage: World, forged: Any
) -> None:
    await stage.submits(PROD)
    forged(FORBID)
    stage.clock.set((await stage.proposal("p1")).deadline_ms + 1_000)
    expiring = Round(EXPIRING, stage.workflow, stage.clock)

    for _ in range(120):
        await expiring.run()
        stage.clock.advance(1)

    (words,) = stage.notifier.alerts
    assert words.lower().startswith(EXPIRING.doing.lower())
    assert "not p1" in words


async def goes_on(stage: World, rounds: Round, *, minutes: int) -> None:
    """Let a job have its rounds."""
    for _ in range(minutes * 60):
        await rounds.run()
        stage.clock.advance(1)
    await stage.workflow.idle()


async def test_a_refused_row_keeps_no_other_proposal_from_its_end(
    stage: World, forged: Any
) -> None:
    """All that were past their deadline ended in one unit, or none did."""
    await stage.submits(PROD)
    await stage.submits(ANOTHER, proposal_id="p2")
    forged(FORBID)
    stage.clock.set((await stage.proposal("p2")).deadline_ms + 1_000)

    await Round(EXPIRING, stage.workflow, stage.clock).run()

    assert (await stage.proposal("p2")).reason == "expired"
    assert (await stage.proposal("p1")).state is State.SENTINEL_APPROVED


async def test_nor_from_its_reminder(stage: World, forged: Any) -> None:
    await stage.submits(PROD)
    await stage.submits(ANOTHER, proposal_id="p2")
    forged(FORBID)
    stage.clock.set((await stage.proposal("p2")).deadline_ms - 60_000)

    await Round(REMINDING, stage.workflow, stage.clock).run()

    assert (await stage.proposal("p2")).reminded_at_ms is not None


async def test_nor_its_agent_from_the_word_that_nobody_gave_a_reason(
    stage: World, forged: Any
) -> None:
    for proposal_id, document in (("p1", PROD), ("p2", ANOTHER)):
        await stage.submits(document, proposal_id=proposal_id)
        await stage.reacts("ben", proposal_id, "❌")
    forged(FORBID)
    stage.clock.advance(301)

    await Round(REMINDING, stage.workflow, stage.clock).run()

    assert (await stage.proposal("p1")).reason_due_ms is not None
    assert (await stage.proposal("p2")).reason_due_ms is None


async def test_a_window_whose_row_is_refused_is_told_to_people_and_the_others_close(
    stage: World, forged: Any
) -> None:
    """It stood open for good, one line in the log said so, and each second wrote half a megabyte
    three times to see whether the store takes anything."""
    await stage.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await stage.submits(MAIL)
    await stage.submits(MAIL, proposal_id="p2", parameters=MAIL["parameters"] | {"subject": "Two"})
    forged(FORBID)
    stage.clock.advance(901)

    closing = Round(CLOSING, stage.workflow, stage.clock)
    await goes_on(stage, closing, minutes=2)
    tried = len(stage.notifier.read)
    forged("DROP TRIGGER forbids")
    await goes_on(stage, closing, minutes=1)

    assert (await stage.proposal("p2")).state is State.COMPLETED
    assert (await stage.proposal("p1")).state is State.COMPLETED
    assert tried < 2 * 120 / 10 + 10
    told, over = stage.notifier.alerts
    assert told.lower().startswith(CLOSING.doing.lower())
    assert "not p1" in told
    assert "works again" in over


async def test_so_is_what_was_approved_and_cannot_begin(stage: World, forged: Any) -> None:
    await stage.submits(PROD)
    await stage.workflow.freeze("incident 7", stage.sender("ana"))
    await stage.approves("ana", "p1")
    forged(FORBID)
    await stage.workflow.thaw(stage.sender("ana"))

    await goes_on(stage, Round(BEGINNING, stage.workflow, stage.clock), minutes=2)

    (told,) = stage.notifier.alerts
    assert told.lower().startswith(BEGINNING.doing.lower())
    assert "not p1" in told


VALUES: dict[str, Callable[[Transaction], object]] = {
    "an integer too large": lambda tx: tx.flags.first_time("terminal", "e1", 2**70),
    "half a character": lambda tx: tx.flags.first_time("terminal", "\ud800", 1),
    "a type that no column has": lambda tx: tx.flags.first_time("terminal", object(), 1),  # type: ignore[arg-type]
    "a text too long": lambda tx: _limited(tx, "x" * 2_000),
}


def _limited(tx: Transaction, text: str) -> None:
    connection = tx.audit.connection  # type: ignore[attr-defined]
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_500)
    try:
        tx.flags.put("long", text)
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


@pytest.mark.parametrize("unit", VALUES.values(), ids=VALUES)
async def test_a_value_that_no_database_can_hold_is_a_fault_of_its_unit_and_not_repeated_in_words(
    stage: World, unit: Callable[[Transaction], object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(RowRefused) as refused:
        await stage.workflow.world.write(unit)
    await stage.submits(PROD)

    assert stage.notifier.alerts == []
    assert "\ud800" not in f"{refused.value}"
    assert "test_refused_rows.py" in " ".join(caplog.messages)
    assert (await stage.proposal("p1")).state is State.SENTINEL_APPROVED
