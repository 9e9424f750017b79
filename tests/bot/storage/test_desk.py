"""What lies on the desk of a unit is what the file holds, whatever happens to unit and file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import RowChanged, StoreUnavailable, Transaction
from lifecycle.proposal import Execution, Outcome, Proposal, Verb
from lifecycle.state import State
from tests.builders import a_document, a_proposal
from tests.by_hand import by_hand
from tests.contracts.store_examples import event


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    await opened.write(lambda tx: tx.proposals.add(a_proposal()))
    yield opened
    await opened.close()


def moved(tx: Transaction, times: int = 1, **changes: object) -> Proposal:
    """Move p1 a few times in one unit."""
    for _ in range(times):
        seen = tx.proposals.get("p1")
        assert seen is not None
        now = seen.but(version=seen.version + 1, **changes)
        assert tx.proposals.save(now, seen)
        tx.cards.want("p1", "discord", now.version)
    return now


def failing(tx: Transaction) -> None:
    moved(tx, 2, explanation="never")
    tx.flags.put("frozen", "never")
    raise ValueError("the unit fails")


async def version_of(store: SqliteStore) -> int | None:
    found = await store.write(lambda tx: tx.proposals.get("p1"))
    return found.version if found else None


async def test_several_moves_in_one_unit_write_the_row_once(store: SqliteStore, path: Path) -> None:
    by_hand(path, "CREATE TABLE written (n INTEGER)")
    by_hand(
        path,
        "CREATE TRIGGER counts AFTER UPDATE ON proposals BEGIN INSERT INTO written VALUES (1); END",
    )

    await store.write(lambda tx: moved(tx, 3))

    assert by_hand(path, "SELECT count(*) FROM written") == [(1,)]
    assert by_hand(path, "SELECT version FROM proposals") == [(4,)]
    assert by_hand(path, "SELECT wanted_version FROM cards") == [(4,)]


async def test_a_question_about_all_sees_what_the_same_unit_has_changed(
    store: SqliteStore,
) -> None:
    def unit(tx: Transaction) -> tuple[int, int | None, list[int], list[int]]:
        moved(tx, state=State.SENTINEL_APPROVED)
        tx.proposals.add(a_proposal(a_document(proposal_id="p2")))
        cards = tx.cards.of("p1")
        return (
            len(tx.proposals.waiting(0, 9)),
            tx.proposals.next_close_ms(),
            [p.version for p in tx.proposals.unchecked(9)],
            [card.wanted_version for card in cards],
        )

    assert await store.write(unit) == (2, None, [1], [2])


async def test_of_a_unit_that_fails_nothing_stays_at_hand(store: SqliteStore, path: Path) -> None:
    assert await version_of(store) == 1

    with pytest.raises(ValueError, match="the unit fails"):
        await store.write(failing)

    assert await version_of(store) == 1
    assert await store.write(lambda tx: tx.flags.get("frozen")) is None
    assert by_hand(path, "SELECT version, explanation FROM proposals") == [(1, "")]


async def test_a_unit_that_fails_between_others_takes_none_of_them_along(
    store: SqliteStore, path: Path
) -> None:
    units: list[Callable[[Transaction], object]] = [moved, failing, moved, failing, moved]

    answers = await asyncio.gather(*map(store.write, units), return_exceptions=True)

    assert [isinstance(answer, ValueError) for answer in answers] == [False, True] * 2 + [False]
    assert by_hand(path, "SELECT version FROM proposals") == [(4,)]
    assert await version_of(store) == 4


async def test_what_somebody_wrote_into_the_file_is_seen_by_the_next_unit(
    store: SqliteStore, path: Path
) -> None:
    assert await version_of(store) == 1

    by_hand(path, "UPDATE proposals SET version = 7")
    by_hand(path, "INSERT INTO flags VALUES ('frozen', '\"yes\"')")

    assert await version_of(store) == 7
    assert await store.write(lambda tx: tx.flags.get("frozen")) == "yes"


async def test_a_message_that_somebody_took_away_is_written_down_with_the_next_word_of_it(
    store: SqliteStore, path: Path
) -> None:
    def shown(tx: Transaction) -> None:
        tx.cards.want("p1", "discord", 1)
        card = tx.cards.get("p1", "discord")
        assert card is not None
        tx.cards.put(replace(card, message_ids=("m1",)))

    await store.write(shown)
    by_hand(path, "DELETE FROM card_messages")
    await store.write(shown)

    found = await store.read(lambda tx: tx.cards.find("discord", "m1"))
    assert found is not None
    assert found.proposal_id == "p1"


async def test_a_move_of_what_has_moved_since_is_refused(store: SqliteStore, path: Path) -> None:
    seen = await store.read(lambda tx: tx.proposals.get("p1"))
    assert seen is not None
    by_hand(path, "UPDATE proposals SET version = 7")

    for at_hand in (False, True):
        if at_hand:
            await version_of(store)
        assert not await store.write(lambda tx: tx.proposals.save(seen.but(version=2), seen))

    assert await version_of(store) == 7


async def test_a_new_proposal_under_a_known_id_fails_and_leaves_the_old_one(
    store: SqliteStore,
) -> None:
    for at_hand in (False, True):
        if at_hand:
            await version_of(store)
        with pytest.raises(StoreUnavailable):
            await store.write(lambda tx: tx.proposals.add(a_proposal(explanation="another")))

    found = await store.write(lambda tx: tx.proposals.get("p1"))
    assert found == a_proposal()


async def test_a_large_document_is_moved_as_any_other(store: SqliteStore, path: Path) -> None:
    large = a_proposal(a_document(proposal_id="p9", justification="x" * 40_000))

    def unit(tx: Transaction) -> None:
        tx.proposals.add(large)
        for version in (2, 3):
            seen = tx.proposals.get("p9")
            assert seen is not None
            assert tx.proposals.save(seen.but(version=version), seen)
            assert len(tx.proposals.waiting(0, 9)) == 2

    await store.write(unit)

    assert by_hand(path, "SELECT version FROM proposals ORDER BY version") == [(1,), (3,)]
    assert await store.write(lambda tx: tx.proposals.get("p9")) == large.but(version=3)


async def test_a_view_that_writes_is_refused_though_it_only_left_a_note(store: SqliteStore) -> None:
    with pytest.raises(StoreUnavailable):
        await store.read(lambda tx: moved(tx))

    assert await version_of(store) == 1


async def test_what_a_unit_does_to_its_own_object_afterwards_reaches_no_other(
    store: SqliteStore,
) -> None:
    receipt = {"id": "r1", "rows": [1, 2]}
    running = Execution(Verb.EXECUTE, 1, Outcome.DONE, receipt=receipt)

    await store.write(lambda tx: moved(tx, state=State.EXECUTING, execution=running))
    receipt["id"] = "forged"
    receipt["rows"].clear()  # type: ignore[attr-defined]

    at_hand = await store.write(lambda tx: tx.proposals.get("p1"))
    assert at_hand == await store.read(lambda tx: tx.proposals.get("p1"))
    assert at_hand is not None
    assert at_hand.execution is not None
    assert at_hand.execution.receipt == {"id": "r1", "rows": [1, 2]}


@pytest.mark.parametrize("broken", ["proposals", "cards", "audit"])
async def test_a_unit_that_swallows_a_failed_write_fails_at_its_end(
    store: SqliteStore, path: Path, broken: str
) -> None:
    by_hand(
        path,
        f"CREATE TRIGGER broken BEFORE INSERT ON {broken} BEGIN SELECT RAISE(ABORT, 'no'); END",
    )

    def unit(tx: Transaction) -> None:
        tx.audit.append(event(proposal_id="p1"))
        tx.proposals.add(a_proposal(a_document(proposal_id="p2")))
        moved(tx)
        for question in (lambda: tx.cards.of("p1"), lambda: tx.audit.page_of("p1", 0, 9)):
            with suppress(sqlite3.Error):
                question()

    with pytest.raises(StoreUnavailable):
        await store.write(unit)

    assert await version_of(store) == 1
    assert by_hand(path, "SELECT version FROM proposals") == [(1,)]


async def test_what_a_lone_unit_told_before_it_failed_is_not_what_the_next_entry_follows(
    store: SqliteStore,
) -> None:
    def fails(tx: Transaction) -> None:
        tx.audit.append(event("told"))
        failing(tx)

    first = await store.write(lambda tx: tx.audit.append(event("told")))
    for _ in range(2):
        with suppress(ValueError):
            await store.write(fails)

    after = await store.write(lambda tx: tx.audit.append(event("told")))
    assert (after.seq, after.prev_hash) == (first.seq + 1, first.entry_hash)


async def test_a_move_that_the_file_did_not_take_fails_its_unit(
    store: SqliteStore, path: Path
) -> None:
    """What stands there is no longer what the unit saw: nothing is called over such a row."""
    deaf = "CREATE TRIGGER deaf BEFORE UPDATE ON proposals BEGIN SELECT RAISE(IGNORE); END"
    by_hand(path, deaf)

    with pytest.raises(RowChanged, match="changed by somebody else"):
        await store.write(moved)

    left = await store.read(lambda tx: tx.proposals.get("p1"))
    assert left == a_proposal()
