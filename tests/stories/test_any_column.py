"""Somebody writes into any column of any table: nothing is done that people did not decide.

The columns are those of the database, so that a new one is tried by itself. What a bot does with a
history that nobody touched is the measure: whatever stands in one column, no tool is called for
anything else, or earlier, no start fails, and nothing beside the row waits for it.
"""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from bot.storage.opening import open_reader, open_store
from bot.trail import verified_in
from lifecycle.ports import StoreUnavailable
from tests.builders import MAIL, PROD, REFUND
from tests.fakes.tools import raising
from tests.stage import staged
from tests.stories.forging import DATABASE, problems
from tests.stories.permits import begun_after, permitted
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World, a_world

STAGING: Final = PROD | {
    "tool": "staging-deploy",
    "target": PROD["target"] | {"domain": "staging.shop.example"},
}
TOOLS: Final = ("send-email", "staging-deploy", "production-deploy")
VERBS: Final = ("execute", "commit", "roll_back")
#: What no entry repeats (ADR 0013), and what stands where nothing reads it: a table, or a column.
NOT_NAMED: Final = {
    *("cards", "card_messages", "events", "flags", "migrations", "outbox", "bindings"),
    *("proposals.version", "proposals.tool_tier", "proposals.reminded_at_ms"),
    "proposals.explanation",  # until it has ended
    *("permits.proposal_id", "permits.token"),  # of calls of ours, which are used up
    *("reviews.number", "reviews.void_why", "spending.number", "uses.number", "permits.number"),
}
#: What somebody writes: another value of the kind that stands there, or one of no kind at all.
ANOTHER: Final = "CASE typeof({0}) WHEN 'integer' THEN {0} + 1000 WHEN 'blob' THEN X'7b7d' \
WHEN 'null' THEN 'x' ELSE {0} || 'x' END"
#: What has begun has a value in most columns.
BEGUN: Final = "decided_at_ms IS NULL AND outcome IS NOT NULL"
NONE_AT_ALL: Final = "X'00ff'"


class Done(NamedTuple):
    """A call of a tool, and when: in ms since the bot was started on the history."""

    tool: str
    verb: str
    proposal_id: str
    told: str
    at_ms: int


async def lives(world: World) -> int:
    """Let a proposal stand in every way in which it may be open; return when that was."""
    for number, (name, base) in enumerate((("mail", MAIL), ("deploys", STAGING), ("dual", PROD))):
        target = base["target"] | {"resource_id": name}
        quorum = "dual" if name == "dual" else "none"
        await world.submits(base, proposal_id=name, target=target, approval_class=quorum)
        await world.approves("ana", name)
        world.clock.advance(60 + number)
    await world.observes(True)
    await world.submits(PROD, proposal_id="waits", preconditions=[CONDITION], task_id="t1")
    world.tool("staging-deploy").on["execute"] = raising(RuntimeError("cut off"))
    await world.submits(STAGING, proposal_id="stopped")
    await world.approves("ana", "stopped")
    await world.rejects("ben", "stopped")
    await permitted(world, proposal_id="refund")
    await begun_after(world)
    await permitted(world, proposal_id="given", target=REFUND["target"] | {"resource_id": "o2"})
    target = MAIL["target"] | {"resource_id": "no"}
    await world.submits(MAIL, proposal_id="no", target=target, task_id="t2")
    await world.rejects("ben", "no")
    assert await problems(world) == []
    return world.clock.now_ms()


class GoesOn:
    """A bot that is started on what stands in a folder, and the people who go on with it."""

    def __init__(self, world: World, since_ms: int) -> None:
        self.world, self.since_ms = world, since_ms
        self.done: list[Done] = []
        nonces = (f"{number:032x}" for number in itertools.count(10**6))
        world.workflow.world.nonce = lambda: next(nonces)
        world.clock.set(since_ms)
        for name, verb in itertools.product(TOOLS, VERBS):
            world.tool(name).on[verb] = partial(self.noting, name)

    async def noting(self, name: str, call: Any) -> dict[str, Any]:
        at_ms = self.world.clock.now_ms() - self.since_ms
        told = str((call.parameters, call.target, call.receipt))
        self.done.append(Done(name, call.verb, call.proposal_id, told, at_ms))
        return {}

    async def lives_on(self) -> None:
        workflow = self.world.workflow
        await workflow.start()
        await self.keeps_house(0)
        for acting in (
            partial(workflow.settle, "stopped", self.world.sender("ana"), happened=True),
            partial(workflow.approve, "dual", self.world.sender("ben")),
        ):
            with suppress(StoreUnavailable):
                await acting()
            await workflow.idle()  # what follows from it is done before the clock goes on
        for minutes in (5, 11, 24 * 60, 24 * 60):
            await self.keeps_house(minutes)

    async def keeps_house(self, minutes: int) -> None:
        """Run every job once; a round that cannot be written is tried again, as ever."""
        self.world.clock.advance(minutes * 60)
        workflow = self.world.workflow
        jobs = (workflow.recover, workflow.recheck, workflow.expire_due, workflow.open_ready)
        for job in (*jobs, workflow.close_due, workflow.remind):
            with suppress(StoreUnavailable):
                await job()
            await workflow.idle()


async def gone_on(folder: Path, since_ms: int) -> tuple[list[Done], set[str]]:
    """Return what tools were called for after a start, and which proposals moved."""
    store = await open_store(DATABASE, folder)
    bot = GoesOn(a_world(store), since_ms)
    head, _ = await store.read(lambda tx: tx.audit.head())
    await bot.lives_on()
    with closing(sqlite3.connect(folder / "signoff.db")) as plain:
        moves = "SELECT proposal_id FROM audit WHERE seq > ? AND target IS NOT NULL"
        moved = {str(row[0]) for row in plain.execute(moves, (head,))}
    await bot.world.workflow.shut_down(1)
    await store.close()
    return bot.done, moved


def columns(database: Path) -> Iterator[tuple[str, str]]:
    """Yield every column of every table, as the migrations made them."""
    with closing(sqlite3.connect(database)) as plain:
        tables = plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for each in plain.execute(f"PRAGMA table_info({table})").fetchall():
                yield table, each[1]


def changed(database: Path, table: str, column: str, value: str, number: int = 0) -> str | None:
    """Write `value` into a column of one row, of the `number`th; return which one that is.

    None where no row is there, or where SQLite takes no such value.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as plain:
        plain.execute("PRAGMA ignore_check_constraints = ON")
        key, *_ = [each[1] for each in plain.execute(f"PRAGMA table_info({table})") if each[5]]
        where = BEGUN if table == "proposals" else "1"
        keys = plain.execute(f"SELECT {key} FROM {table} WHERE {where} ORDER BY 1").fetchall()
        each = keys[number % len(keys)][0] if keys else None
        new = value.format(column)
        try:
            plain.execute(f"UPDATE {table} SET {column} = {new} WHERE {key} = ?", (each,))
        except sqlite3.IntegrityError:
            return None
    return str(each) if each is not None else None


@pytest.fixture
async def lived(tmp_path: Path) -> tuple[Path, int]:
    """The folder of a database with a history, and when it ends."""
    async with staged(DATABASE, tmp_path / "lived") as world:
        since_ms = await lives(world)
    return tmp_path / "lived", since_ms


async def test_whatever_column_is_changed_is_named(lived: tuple[Path, int], tmp_path: Path) -> None:
    folder, _ = lived
    silent = []
    for table, column in columns(folder / "signoff.db"):
        if {table, f"{table}.{column}"} & NOT_NAMED:
            continue
        for value in (ANOTHER, NONE_AT_ALL):
            shutil.copy(folder / "signoff.db", tmp_path)
            if changed(tmp_path / "signoff.db", table, column, value) is None:
                continue
            reader = await open_reader(DATABASE, tmp_path)
            found = await verified_in(reader, None, lambda _: None)
            await reader.close()
            silent += [] if found.problems else [(table, column, value)]
    assert silent == []


async def test_whatever_column_is_changed_nothing_is_done_that_nobody_decided(
    lived: tuple[Path, int], tmp_path: Path
) -> None:
    folder, since_ms = lived
    shutil.copy(folder / "signoff.db", tmp_path)
    decided, moved = await gone_on(tmp_path, since_ms)
    at = {call[:-1]: call.at_ms for call in decided}
    assert len(at) == len(decided) == 3
    wrong = []
    for number, (table, column) in enumerate(columns(folder / "signoff.db")):
        if table == "migrations":
            continue  # such a database is not opened, or is brought up to date
        shutil.copy(folder / "signoff.db", tmp_path)
        value = (ANOTHER, NONE_AT_ALL)[number % 2]
        whose = changed(tmp_path / "signoff.db", table, column, value, number)
        done, went_on = await gone_on(tmp_path, since_ms)
        # What no longer fits what was approved is taken back, with its own receipt.
        early = (call for call in done if (call.verb, call.proposal_id) != ("roll_back", whose))
        wrong += [(table, column, whose, c) for c in early if c.at_ms < at.get(c[:-1], 2**63)]
        if table == "proposals":
            wrong += [(table, column, whose, each) for each in moved - went_on - {whose}]
    assert wrong == []
