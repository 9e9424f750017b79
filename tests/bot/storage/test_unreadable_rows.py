"""A row that was changed by hand stands still; nothing beside it waits for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import RowUnreadable
from lifecycle.state import State
from tests.builders import MAIL
from tests.world import a_world


async def test_other_windows_close_and_other_cards_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    world = a_world(store)
    for number in (1, 2):
        parameters = MAIL["parameters"] | {"subject": f"Invoice {number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", parameters=parameters)
        await world.approves("ana", f"p{number}")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id = 'p1'")
        other.commit()

    await world.passes(minutes=16)
    await world.submits(MAIL, proposal_id="p3")

    assert (await world.proposal("p2")).state is State.COMPLETED
    assert [p.proposal_id for p in await store.read(lambda tx: tx.proposals.waiting(0, 9))] == [
        "p3"
    ]
    with pytest.raises(RowUnreadable, match="p1"):
        await world.proposal("p1")
    await store.close()
