"""What the inbox keeps is under a seal: a row that is not its own is told and not worked."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.copied import note_copy
from lifecycle.ports import Transaction
from lifecycle.sealing import sealed
from tests.bot.chat.working import Working


@pytest.mark.parametrize(
    "row",
    [
        {"lane": "p:0", "payload": {"text": "of a version that sealed nothing"}},
        {"lane": "p:0", "place": 7, "seal": "test.0"},
        {"lane": "p:0"},
        {"seal": 5},
    ],
)
async def test_what_no_process_of_ours_kept_is_told_and_not_worked(row: dict[str, Any]) -> None:
    working = Working()
    await working.takes(1)

    def by_hand(tx: Transaction) -> None:
        tx.flags.put("inbox:slack", tx.flags.get("inbox:slack") | {"e0": row})

    await working.world.store.write(by_hand)
    await working.inbox.close()
    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == 1
    await after.inbox.settled()
    assert [event_id for event_id, _ in after.worked] == ["e1"]
    assert await after.flag("inbox:slack") == {}
    assert [entry["reason"] for entry in await after.world.audit("ignored")] == ["digest_mismatch"]
    said = await after.world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 9))
    assert ["is not what the bot kept" in message.body["text"] for message in said] == [True]


@pytest.mark.parametrize(
    "row",
    [
        {"lane": "p:0", "payload": {"text": "in one row, as the first versions kept it"}},
        {"lane": "p:0", "place": 0},
    ],
)
async def test_nobody_is_accused_of_what_an_older_version_kept_without_a_seal(
    row: dict[str, Any],
) -> None:
    """The first start after an update told people that somebody had changed the database."""
    working = Working()
    await working.world.store.write(lambda tx: tx.flags.put("inbox:slack", {"e0": row}))

    await working.inbox.resume()

    waiting = await working.world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 9))
    (told,) = (message.body["text"] for message in waiting)
    assert "an older version kept it so" in told
    assert "the key that signs permits" not in told
    assert working.worked == []


@pytest.mark.parametrize("restored", [False, True])
async def test_what_a_version_kept_that_noted_no_copy_is_worked_unless_one_was_brought_back(
    restored: bool,
) -> None:
    """An update comes at any time, a cross as well."""
    working = Working()
    law_of_it = working.world.workflow.world

    def as_it_did(tx: Transaction) -> None:
        tx.flags.put("inbox:slack#0", {"text": "x"})
        seal = sealed(law_of_it.ring, "slack", "e0", "p:0", {"text": "x"})
        tx.flags.put("inbox:slack", {"e0": {"lane": "p:0", "place": 0, "seal": seal}})
        if restored:
            note_copy(tx, law_of_it.moment())

    await working.world.store.write(as_it_did)
    working.may.set()
    await working.inbox.resume()
    await working.inbox.settled()

    assert [event_id for event_id, _ in working.worked] == ([] if restored else ["e0"])
    codes = [entry["reason"] for entry in await working.world.audit("ignored")]
    assert codes == (["stale_card"] if restored else [])
    assert await working.flag("inbox:slack") == {}


async def test_what_waits_in_this_process_is_worked_whatever_becomes_of_its_row() -> None:
    working = Working()
    await working.takes(1)

    def by_hand(tx: Transaction) -> None:
        kept = tx.flags.get("inbox:slack")
        tx.flags.put("inbox:slack", {"e1": kept["e1"] | {"seal": "x"}})

    await working.world.store.write(by_hand)
    await working.inbox.resume()
    working.may.set()
    await working.inbox.settled()
    assert [event_id for event_id, _ in working.worked] == ["e1"]


NO_ROWS: dict[str, Any] = {
    "a row that is a text": {"e9": "x"},
    "one that is nothing": {"e9": None},
    "one that is a list": {"e9": [1]},
    "one without a place": {"e9": {"lane": "p:9"}},
    "one in no place": {"e9": {"lane": 9, "place": [1], "seal": {"k": 1}}},
    "a list of rows": ["e9"],
    "a text": "e9",
    "a number": 9,
}


@pytest.mark.parametrize("rows", NO_ROWS.values(), ids=NO_ROWS)
async def test_what_is_no_row_of_an_event_makes_no_surface_deaf(rows: Any) -> None:
    """The surface ended at its start, and was begun anew for ever, deaf."""
    working = Working()
    await working.takes(1)
    await working.inbox.close()
    kept = await working.flag("inbox:slack")
    forged = kept | rows if isinstance(rows, dict) else rows
    await working.world.store.write(lambda tx: tx.flags.put("inbox:slack", forged))
    after = Working(working.world.store)
    after.may.set()

    await after.takes(2)  # a platform may deliver before that
    await after.inbox.resume()
    await after.inbox.settled()

    assert "e2" in dict(after.worked)
    assert ("e1" in dict(after.worked)) == isinstance(rows, dict)
    (told,) = await after.world.audit("ignored")
    assert told["reason"] == "digest_mismatch"
    assert await after.flag("inbox:slack") == {}
