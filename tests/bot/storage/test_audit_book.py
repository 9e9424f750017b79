"""Whatever somebody changes in the stored chain, verification sees it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import orjson
import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.audit import broken_links
from lifecycle.ports import Transaction
from tests.builders import ANA
from tests.by_hand import by_hand
from tests.contracts.store_examples import event


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A chain of four entries, all columns filled."""
    database = tmp_path / "signoff.db"
    store = await SqliteStore.open(database)

    def unit(tx: Transaction) -> None:
        for number in range(4):
            tx.audit.append(
                event(
                    proposal_id="p1",
                    actor=ANA,
                    source="pending",
                    target="rejected",
                    surface="terminal",
                    event_id="e1",
                    digest="sha256:00",
                    policy_digest="pol1_00",
                    reason="why",
                    details={"number": number, "ü": [1.5, None]},
                )
            )

    await store.write(unit)
    await store.close()
    return database


async def problems(path: Path) -> list[str]:
    store = await SqliteStore.open_reader(path)
    entries = await store.read(lambda tx: tx.audit.exported(0, 99))
    await store.close()
    orjson.dumps(entries)
    return broken_links(entries)


async def test_an_untouched_chain_holds(path: Path) -> None:
    assert await problems(path) == []


async def test_against_an_anchor_a_tail_that_was_cut_is_seen_as_is_one_written_anew(
    path: Path,
) -> None:
    store = await SqliteStore.open_reader(path)
    entries = await store.read(lambda tx: tx.audit.exported(0, 99))
    await store.close()
    anchors = [entry["entry_hash"] for entry in entries]

    assert [broken_links(entries, anchor) for anchor in anchors] == [[]] * 4
    assert broken_links(entries[:3]) == []
    assert len(broken_links(entries[:3], anchors[3])) == 1
    assert len(broken_links(entries, "f" * 64)) == 1
    assert len(broken_links([], anchors[0])) == 1


COLUMNS = (
    "at proposal_id kind source target actor_kind actor surface event_id digest policy_digest "
    "reason details prev_hash entry_hash"
).split()


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "change",
    [
        "substr({0}, 1, length({0}) - 1) || '~'",
        "{0} || ' '",
        "CAST({0} AS BLOB)",
        "X'ff'",
        "CAST(X'ff' AS TEXT)",
        "'5'",
    ],
    ids=["one letter", "a blank more", "bytes", "other bytes", "no UTF-8", "another value"],
)
async def test_a_changed_value_is_seen(path: Path, column: str, change: str) -> None:
    by_hand(path, f"UPDATE audit SET {column} = {change.format(column)} WHERE seq = 3")

    assert any("entry 3" in problem for problem in await problems(path))


@pytest.mark.parametrize(
    "column", [c for c in COLUMNS if c not in ("at", "kind", "details", "prev_hash", "entry_hash")]
)
async def test_a_value_that_was_taken_out_is_seen(path: Path, column: str) -> None:
    by_hand(path, f"UPDATE audit SET {column} = NULL WHERE seq = 3")

    assert any("entry 3" in problem for problem in await problems(path))


@pytest.mark.parametrize(
    "details",
    [
        '{"number":2, "ü":[1.5,null]}',
        '{"ü":[1.5,null],"number":2}',
        '{"number":2.0,"ü":[1.5,null]}',
    ],
    ids=["white space", "another order", "another spelling"],
)
async def test_details_of_the_same_meaning_in_other_bytes_are_seen(
    path: Path, details: str
) -> None:
    by_hand(path, f"UPDATE audit SET details = '{details}' WHERE seq = 3")

    assert any("entry 3" in problem for problem in await problems(path))


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM audit WHERE seq = 2",
        "UPDATE audit SET seq = 9 WHERE seq = 4",
        "INSERT INTO audit SELECT 5, at, proposal_id, kind, source, target, actor_kind, actor, "
        "surface, event_id, digest, policy_digest, reason, details, prev_hash, entry_hash "
        "FROM audit WHERE seq = 4",
    ],
    ids=["taken out", "moved", "put in"],
)
async def test_an_entry_taken_out_moved_or_put_in_is_seen(path: Path, sql: str) -> None:
    by_hand(path, sql)

    assert await problems(path) != []


async def test_nothing_can_hide_before_the_first_entry(path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        by_hand(path, "UPDATE audit SET seq = 0 WHERE seq = 4")
