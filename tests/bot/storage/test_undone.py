"""What was undone, or written by somebody else, is at hand for no later unit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Money
from lifecycle.review import Decision, Review
from lifecycle.state import State
from tests.builders import a_document, a_proposal
from tests.by_hand import by_hand


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    await opened.write(lambda tx: tx.proposals.add(a_proposal()))
    yield opened
    await opened.close()


def moved(tx: Transaction, **changes: object) -> Transaction:
    """Move p1 once."""
    seen = tx.proposals.get("p1")
    assert seen is not None
    assert tx.proposals.save(seen.but(version=seen.version + 1, **changes), seen)
    return tx


def on_record(tx: Transaction) -> tuple[int, Sequence[Review], object, bool, object]:
    """Return what the books hold of p1: version, reviews, freeze, a card's message, spending."""
    seen = tx.proposals.get("p1")
    assert seen is not None
    return (
        seen.version,
        tx.reviews.of("p1"),
        tx.flags.get("frozen"),
        tx.cards.find("discord", "m1") is not None,
        tx.spending.spent("leila", 0, "p9"),
    )


def everywhere(tx: Transaction) -> None:
    """Write p1, its card and its money, a review and a freeze, and look at all of it."""
    on_record(tx)
    tx.reviews.add(Review("p1", "ana", Decision.APPROVE, "", 0, "terminal"))
    tx.flags.put("frozen", "never")
    tx.cards.want("p1", "discord", 1)
    card = tx.cards.get("p1", "discord")
    assert card is not None
    tx.cards.put(replace(card, message_ids=("m1",)))
    tx.spending.add("leila", "p1", [Money("USD", Decimal(5))])
    assert on_record(moved(tx)) != NOTHING
    tx.proposals.bind_evidence("p1", ["e1"])
    moved(tx)
    tx.cards.want("p1", "slack", 3)


NOTHING = (1, [], None, False, {})


def raises(tx: Transaction) -> None:
    everywhere(tx)
    raise ValueError("the unit fails")


def cannot_be_committed(tx: Transaction) -> None:
    everywhere(tx)
    tx.audit.connection.execute("PRAGMA defer_foreign_keys = ON")
    tx.cards.want("nobody", "terminal", 1)


@pytest.mark.parametrize("undone", [raises, cannot_be_committed])
@pytest.mark.parametrize("alone", [True, False])
async def test_nothing_that_was_undone_counts_in_any_book(
    store: SqliteStore, path: Path, undone: Callable[[Transaction], None], alone: bool
) -> None:
    beside = [] if alone else [lambda tx: None] * 2
    assert await store.write(on_record) == NOTHING

    answers = await asyncio.gather(*map(store.write, (undone, *beside)), return_exceptions=True)

    assert isinstance(answers[0], ValueError | StoreUnavailable)
    assert await store.write(on_record) == NOTHING
    assert by_hand(path, "SELECT count(*) FROM cards") == [(0,)]
    assert not await store.read(lambda tx: tx.proposals.is_bound("p1", "e1"))
    await store.write(everywhere)
    again = await store.read(on_record)
    assert again == await store.write(on_record)
    assert again[3], "the message was not written the second time"


async def test_an_end_that_was_undone_lets_go_of_no_money(store: SqliteStore, path: Path) -> None:
    five = [Money("USD", Decimal(5))]
    await store.write(lambda tx: tx.spending.add("leila", "p1", five))
    by_hand(
        path,
        "CREATE TRIGGER broken BEFORE INSERT ON spending BEGIN SELECT RAISE(ABORT, 'no'); END",
    )

    def ends(tx: Transaction) -> None:
        moved(tx, state=State.REJECTED, reason="expired", decided_at_ms=1)
        tx.spending.add("leila", "p1", five)

    with pytest.raises(StoreUnavailable):
        await store.write(ends)
    await store.write(lambda tx: moved(tx))

    assert await store.read(lambda tx: tx.spending.spent("leila", 0, "p9")) == {"USD": Decimal(5)}


async def test_what_was_not_there_is_found_once_somebody_wrote_it_into_the_file(
    store: SqliteStore, path: Path
) -> None:
    def found(tx: Transaction) -> tuple[bool, object, int]:
        known = tx.proposals.get("p2") is not None
        return known, tx.flags.get("frozen"), len(tx.reviews.of("p1"))

    assert await store.write(found) == (False, None, 0)

    by_hand(path, "INSERT INTO flags VALUES ('frozen', '\"yes\"')")
    by_hand(path, "INSERT INTO reviews SELECT 1, 'p1', 'ana', 'reject', '', 0, 'x', NULL, 0, NULL")
    by_hand(path, "UPDATE proposals SET proposal_id = 'p2'")

    assert await store.write(found) == (True, "yes", 1)


async def test_however_much_passes_only_so_much_stays_at_hand_and_the_oldest_row_goes_first(
    store: SqliteStore,
) -> None:
    def pass_through(tx: Transaction) -> None:
        for n in range(700):
            tx.proposals.add(a_proposal(a_document(proposal_id=f"q{n}")))
            assert tx.flags.get(f"flag-{n}") is None
        tx.cards.want("q0", "discord", 1)
        card = tx.cards.get("q0", "discord")
        assert card is not None
        tx.cards.put(replace(card, message_ids=tuple(f"m{n}" for n in range(5_000))))

    def at_hand(tx: Transaction) -> tuple[list[str], int, int]:
        desk = tx.proposals.desk  # type: ignore[attr-defined]
        return [*desk._kept], len(desk.flags), len(desk.messages)

    await store.write(pass_through)
    rows, flags, messages = await store.write(at_hand)

    assert 100 < len(rows) < 700
    assert rows[-1] == "q699"
    assert "p1" not in rows
    assert flags < 700
    assert messages < 5_000
