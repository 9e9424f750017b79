"""Somebody writes what nothing can be reckoned with, or hides it: nothing else waits for it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.chat.commands.listing import pending_reply
from bot.chat.showing.delivery import Delivery
from bot.views import pending_json, pending_page
from lifecycle.clockwork.restored import bring_back
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention
from tests.builders import MAIL, PROD, a_document
from tests.fakes.surface import FakeSurface
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.stories.permits import begun, permitted
from tests.world import World

DEPLOY = "production-deploy"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def two(world: World, base: Any = PROD) -> None:
    """Let p1 and p2 wait for people."""
    for number in (1, 2):
        target = base["target"] | {"resource_id": f"of-{number}"}
        await world.submits(base, proposal_id=f"p{number}", target=target)


async def submits_raw(world: World, **changes: Any) -> str:
    """Submit a mail without showing its card; return its id."""
    document = a_document(MAIL, ts_ms=world.clock.now_ms(), **changes)
    answer = await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    return answer.proposal_id or answer.reason or ""


#: What a query asks of a column, with the value that the column had written into `rest` instead.
HIDDEN = {
    "its window never closes": ("retry_at_ms", "4000000000000"),
    "it does not expire": ("deadline_ms", "4000000000000"),
    "it is no open one": ("decided_at_ms", "5"),
    "it may be proposed again": ("reason", "'other'"),
    "it is of another content": ("content_digest", "'sha256:other'"),
}


@pytest.mark.parametrize(("column", "value"), HIDDEN.values(), ids=HIDDEN)
async def test_what_stands_beside_a_column_does_not_hide_that_it_was_changed(
    world: World, forged: Any, column: str, value: str
) -> None:
    await world.submits(MAIL, proposal_id="p1")
    if column == "reason":
        await world.rejects("ben", "p1")
    else:
        await world.approves("ana", "p1")

    forged(
        f"UPDATE proposals SET rest = json_set(rest, '$.{column}', {column}), {column} = {value}"
    )

    assert [words for words in await problems(world) if "proposal p1: " in words]


#: What a list would show of it, and cannot.
UNSHOWN = {
    "no year has its deadline": "deadline_ms = 1152921504606846976",
    "nor its beginning": "created_at_ms = -5000000000000000",
    "its document is none": "document = X'7b7d'",
}


@pytest.mark.parametrize("change", UNSHOWN.values(), ids=UNSHOWN)
async def test_what_cannot_be_shown_hides_nothing_else_that_waits(
    world: World, forged: Any, change: str
) -> None:
    await two(world)
    forged(f"UPDATE proposals SET {change} WHERE proposal_id = 'p1'")
    now_ms = world.clock.now_ms()

    def lists(tx: Transaction) -> str:
        page = pending_reply(pending_page(tx, now_ms), now_ms)
        return f"{page} {json.dumps(pending_json(tx, now_ms))}"

    assert "p2" in await world.store.read(lists)
    assert any(words.startswith("proposal p1: ") for words in await problems(world))
    assert (await world.approves("ana", "p2")).done


async def test_a_version_behind_which_no_other_follows_keeps_nobody_from_proposing(
    world: World, forged: Any
) -> None:
    await two(world)
    forged("UPDATE proposals SET version = 9223372036854775807 WHERE proposal_id = 'p1'")
    await world.passes(minutes=25 * 60)

    assert await submits_raw(world, proposal_id="p3") == "p3"
    assert any("proposal p1: " in words for words in await problems(world))


async def test_what_was_done_under_a_document_that_is_none_is_settled_by_people(
    world: World, forged: Any
) -> None:
    """Whether it stayed within its envelope is not known any more."""
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET document = X'7b7d'")

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)

    assert (await world.proposal(proposal_id)).attention is Attention.ENVELOPE_EXCEEDED


@pytest.mark.parametrize(
    ("said", "attention"), [("done", Attention.OUTCOME_UNKNOWN), ("failed", None)]
)
async def test_what_an_agent_reports_of_a_document_that_is_none_is_not_lost(
    world: World, forged: Any, said: str, attention: Attention | None
) -> None:
    proposal_id = await begun(world)
    forged("UPDATE proposals SET document = X'7b7d'")

    assert (await world.workflow.report(proposal_id, world.sender("leila"), said, {})).done

    assert (await world.proposal(proposal_id)).attention is attention


@pytest.mark.parametrize(
    "table", ["cards SET shown_version = 0, attempts", "outbox SET attempts"], ids=["card", "word"]
)
async def test_one_row_of_a_card_or_a_message_silences_no_surface(
    world: World, forged: Any, table: str
) -> None:
    """Nothing was shown to anybody any more, and so nothing could begin."""
    await two(world)
    await world.workflow.freeze("look", world.sender("ana"))  # which is told to everybody
    await submits_raw(world, proposal_id="p3")
    forged(f"UPDATE {table} = 'often' WHERE rowid = (SELECT min(rowid) FROM {table.split()[0]})")
    surface = FakeSurface("terminal")

    await Delivery(world.workflow.world, surface).drain()

    assert len(surface.posted) == 1


@pytest.mark.parametrize("wanted", ["wanted_version + 1000", "'newest'"])
async def test_a_card_is_not_edited_without_end_for_a_version_that_there_is_not(
    world: World, forged: Any, wanted: str
) -> None:
    await two(world)
    surface = FakeSurface("terminal")
    delivery = Delivery(world.workflow.world, surface)
    await delivery.drain()
    surface.edited.clear()
    forged(f"UPDATE cards SET shown_version = 0, wanted_version = {wanted}")

    async with asyncio.timeout(30):  # it went on for ever
        await delivery.drain()

    assert len(surface.edited) == 2


async def test_a_document_that_is_none_keeps_its_proposer_from_nothing(
    world: World, forged: Any
) -> None:
    """It is what the same content, sent again, would be compared with."""
    await two(world, MAIL)
    forged("UPDATE proposals SET document = X'7b7d' WHERE proposal_id = 'p1'")
    target = MAIL["target"] | {"resource_id": "of-1"}

    again = await world.submits(MAIL, proposal_id="p3", target=target)

    assert (again.proposal_id, again.deduplicated) == ("p1", True)


async def test_a_card_whose_document_is_none_is_shown_all_the_same(
    world: World, forged: Any
) -> None:
    await two(world)
    forged("UPDATE proposals SET document = X'7b7d' WHERE proposal_id = 'p1'")
    forged("UPDATE cards SET shown_version = 0, message_ids = '[]'")
    surface = FakeSurface("terminal")

    await Delivery(world.workflow.world, surface).drain()

    assert len(surface.posted) == 2


async def test_a_copy_is_brought_back_although_a_document_in_it_is_none(
    world: World, forged: Any
) -> None:
    proposal_id = await permitted(world)
    forged("UPDATE proposals SET document = X'7b7d'")
    moment = world.workflow.world.moment()

    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))

    assert not (await world.proposal(proposal_id)).permit_waits


async def test_what_is_no_time_of_an_evaluation_counts_and_keeps_nobody_from_proposing(
    world: World, forged: Any
) -> None:
    await two(world, MAIL)
    forged("UPDATE uses SET at_ms = 'noon' WHERE number = 1")

    assert await submits_raw(world, proposal_id="p3") == "p3"
    assert any("do not count" in words for words in await problems(world))


#: The bot finds by these what is due, what is open, and what it may write.
RESHAPED = {
    "an index is gone": ["DROP INDEX open_by_content"],
    "an index holds less": [
        "DROP INDEX open_by_id",
        "CREATE INDEX open_by_id ON proposals (proposal_id) WHERE state = 'pending'",
    ],
    "an index refuses rows": ["CREATE UNIQUE INDEX once ON reviews (proposal_id, person)"],
    "no window is ever due": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'THEN ''close''', 'THEN ''never''')",
        "PRAGMA writable_schema = RESET",
        "REINDEX",
    ],
    "an index is written in no UTF-8": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = CAST(CAST(sql || '--' AS BLOB) || X'ff' AS TEXT)"
        " WHERE name = 'open_by_id'",
    ],
}


@pytest.mark.parametrize("statements", RESHAPED.values(), ids=RESHAPED)
async def test_tables_and_indices_that_are_not_as_they_were_made_are_named(
    world: World, tmp_path: Path, statements: list[str]
) -> None:
    await two(world)
    assert await problems(world) == []

    with closing(sqlite3.connect(tmp_path / "signoff.db", isolation_level=None)) as plain:
        for statement in statements:
            plain.execute(statement)

    assert len(await problems(world)) == 1


async def test_a_column_and_an_index_that_somebody_added_are_no_alarm(
    world: World, forged: Any
) -> None:
    await two(world)
    forged("ALTER TABLE proposals ADD COLUMN spare TEXT")
    forged("CREATE INDEX mine ON reviews (person)")

    assert await problems(world) == []
