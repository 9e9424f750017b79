"""A freeze that the store cannot take is kept, and in force at once, as any stop (ADR 0023)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.trail import verified_in
from lifecycle.answers import Reply
from lifecycle.state import State
from lifecycle.stops.spooling import held_words
from tests.builders import MAIL, PROD
from tests.fakes.spool import MemorySpool
from tests.stage import in_memory
from tests.stories.spooling import MAILER, nothing_can_be_stored
from tests.stories.unrecorded import FILE, break_audit, mend_audit
from tests.world import World

DEPLOYER = "production-deploy"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with in_memory(tmp_path) as stage:
        yield stage


async def frozen_in_vain(world: World, person: str = "ana", reason: str = "incident 7") -> Reply:
    with nothing_can_be_stored(world):
        return await world.workflow.freeze(reason, world.sender(person))


async def frozen_entries(world: World) -> list[Mapping[str, Any]]:
    trail = await world.store.read(lambda tx: tx.audit.exported(0, 1000))
    return [entry["details"] for entry in trail if entry["kind"] == "frozen"]


def refuses(folder: Path) -> None:
    """Let the row of a freeze be refused, and no other."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute(
            "CREATE TRIGGER never BEFORE INSERT ON flags WHEN NEW.name = 'freeze' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )


def takes_again(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute("DROP TRIGGER never")


async def test_nothing_begins_over_a_freeze_that_waits_for_the_store(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    reply = await frozen_in_vain(world)

    await world.approves("ana", proposal_id)
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert (reply.done, "Kept" in reply.words) == (True, True)
    assert world.tool(DEPLOYER).calls == []
    words = held_words(world.workflow.world)
    assert words == "Held, until a stop can be carried out: everything (freeze)"


async def test_no_window_closes_over_it(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.workflow.idle()
    await frozen_in_vain(world)
    world.clock.advance(901)

    assert await world.workflow.close_due() == 0
    await world.workflow.recover()
    assert await world.workflow.close_due() == 0

    assert world.tool(MAILER).verbs() == ["execute"]
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_it_is_put_in_force_as_soon_as_the_store_can_be_written(world: World) -> None:
    said_at = world.clock.now_ms()
    await frozen_in_vain(world)
    world.clock.advance(30)

    await world.workflow.recover()

    flag = await world.store.read(lambda tx: tx.flags.get("freeze"))
    assert (flag["reason"], flag["by"], flag["at_ms"]) == ("incident 7", "ana", said_at + 30_000)
    (told,) = await frozen_entries(world)
    assert told["given_at"] == "2026-03-02T12:00:00.000Z"
    assert (world.spool.stops, held_words(world.workflow.world)) == ([], None)
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_it_outlives_the_process(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await frozen_in_vain(world)

    await world.restarts()
    await world.approves("ana", proposal_id)

    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is not None
    assert world.tool(DEPLOYER).calls == []


async def test_a_thaw_behind_it_lifts_it(world: World) -> None:
    await frozen_in_vain(world)

    reply = await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.workflow.idle()

    assert reply.words.startswith("Thawed by ana")
    assert len(await frozen_entries(world)) == 1
    assert world.tool(DEPLOYER).verbs() == ["execute"]
    assert world.spool.stops == []


async def test_a_thaw_that_cannot_be_stored_either_lifts_nothing(world: World) -> None:
    await frozen_in_vain(world)
    with nothing_can_be_stored(world):
        reply = await world.workflow.thaw(world.sender("ana"))

    await world.workflow.recover()

    assert (reply.code, "everything stands still" in reply.words) == ("audit_unavailable", True)
    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is not None


@pytest.mark.parametrize(
    ("person", "reason", "code"),
    [
        ("ben", "why", "not_an_operator"),
        ("leila", "why", "not_an_operator"),
        ("ana", " ", "reason_required"),
    ],
)
async def test_what_would_be_refused_is_not_kept(
    world: World, person: str, reason: str, code: str
) -> None:
    refused = await frozen_in_vain(world, person, reason)

    assert refused.code == code
    assert (world.spool.stops, held_words(world.workflow.world)) == ([], None)


async def test_one_whose_giver_is_no_operator_any_more_is_told_to_have_no_effect(
    world: World,
) -> None:
    await frozen_in_vain(world)
    people = dict(world.workflow.policy.people)
    await world.adopts(people=people | {"ana": replace(people["ana"], groups=frozenset())})

    await world.workflow.recover()

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    (words,) = [m.body["text"] for m in told if "has no effect" in m.body.get("text", "")]
    assert words.startswith("The stop of everything (freeze) by person ana, which was kept")
    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is None
    assert (world.spool.stops, held_words(world.workflow.world)) == ([], None)


async def test_said_again_by_the_platform_it_counts_once(world: World) -> None:
    sender = replace(world.sender("ana"), event_id="Ev1")
    for _ in range(2):
        with nothing_can_be_stored(world):
            await world.workflow.freeze("incident 7", sender)

    await world.workflow.recover()
    await world.workflow.thaw(world.sender("ana"))
    await world.workflow.recover()

    assert len(await frozen_entries(world)) == 1
    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is None
    assert (world.spool.stops, held_words(world.workflow.world)) == ([], None)


class FullSpool(MemorySpool):
    """A spool on a disk that is full."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        raise OSError(28, "No space left on device")


async def test_where_the_spool_is_full_as_well_it_holds_from_memory_and_says_so(
    world: World,
) -> None:
    world.workflow.world.spool = FullSpool()
    reply = await frozen_in_vain(world)

    await world.workflow.recover()

    assert (reply.code, "in its memory alone" in reply.words) == ("audit_unavailable", True)
    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is not None


async def test_a_real_file_that_takes_no_entry_keeps_it_too(on_disk: World, tmp_path: Path) -> None:
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    await on_disk.workflow.idle()
    break_audit(tmp_path)
    reply = await on_disk.workflow.freeze("incident 7", on_disk.sender("ana"))
    mend_audit(tmp_path)
    on_disk.clock.advance(901)

    closed = await on_disk.workflow.close_due()
    await on_disk.workflow.recover()

    assert ("Kept" in reply.words, closed) == (True, 0)
    assert await on_disk.store.read(lambda tx: tx.flags.get("freeze")) is not None


async def test_a_freeze_whose_row_alone_is_refused_can_be_let_go_of_after_a_minute(
    on_disk: World, tmp_path: Path
) -> None:
    refuses(tmp_path)
    kept = await on_disk.workflow.freeze("incident 7", on_disk.sender("ana"))
    at_once = await on_disk.workflow.thaw(on_disk.sender("ana"))
    on_disk.clock.advance(61)
    later = await on_disk.workflow.thaw(on_disk.sender("ana"))
    takes_again(tmp_path)
    await on_disk.workflow.recover()

    assert ("What you stopped stands still" in kept.words, at_once.code) == (
        True,
        "audit_unavailable",
    )
    assert "could carry out is let go of" in later.words
    assert await on_disk.store.read(lambda tx: tx.flags.get("freeze")) is None
    assert (on_disk.spool.stops, held_words(on_disk.workflow.world)) == ([], None)
