"""An agent finds its own proposals page by page, and a document by its hash, in both stores."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest

from bot.storage.opening import open_store
from lifecycle.ports import Transaction
from lifecycle.state import State
from tests.builders import NOUR, NOW_MS, a_document, a_proposal


@pytest.fixture(params=["memory:", "sqlite:///signoff.db"])
async def store(request: pytest.FixtureRequest, tmp_path: Path):
    opened = await open_store(request.param, tmp_path)
    yield opened
    await opened.close()


def filled(tx: Transaction) -> None:
    for number in range(5):
        document = a_document(proposal_id=f"p{number}", parameters={"to": f"{number}@shop.example"})
        state = State.PENDING if number % 2 else State.SENTINEL_APPROVED
        tx.proposals.add(a_proposal(document, created_at_ms=NOW_MS + number // 2, state=state))
    tx.proposals.add(a_proposal(a_document(proposal_id="other"), actor=NOUR))


async def test_own_proposals_come_newest_first_a_page_at_a_time(store) -> None:
    await store.write(filled)

    def pages(tx: Transaction) -> list[list[str]]:
        found, before = [], None
        while page := tx.proposals.own_of("leila", before, 2):
            found.append([each.proposal_id for each in page])
            before = (page[-1].created_at_ms, page[-1].proposal_id)
        return found

    assert await store.read(pages) == [["p4", "p3"], ["p2", "p1"], ["p0"]]


async def test_own_proposals_can_be_asked_for_by_state_and_tool(store) -> None:
    await store.write(filled)

    def ids(tx: Transaction, **wanted: str) -> list[str]:
        return [each.proposal_id for each in tx.proposals.own_of("leila", None, 9, **wanted)]

    assert await store.read(lambda tx: ids(tx, state="pending")) == ["p3", "p1"]
    assert await store.read(lambda tx: ids(tx, tool="search")) == []
    assert len(await store.read(lambda tx: ids(tx, tool="send-email"))) == 5


async def test_a_look_at_ones_own_ends_where_it_is_told_to(store) -> None:
    await store.write(filled)

    def view(tx: Transaction) -> list[object]:
        until = tx.proposals.own_behind("leila", None, 3)
        pages = [tx.proposals.own_of("leila", None, 9, until=until)]
        pages += [tx.proposals.own_of("leila", until, 9)]
        pages += [tx.proposals.own_of("leila", None, 9, until=until, state="pending")]
        pages += [tx.proposals.own_of("leila", None, 9, until=until, tool="send-email")]
        pages += [tx.proposals.own_of("leila", None, 9, until=(NOW_MS, "p1"), state="pending")]
        far = [tx.proposals.own_behind("leila", each, 3) for each in (until, (NOW_MS, ""))]
        far += [tx.proposals.own_behind("leila", None, count) for count in (5, 6)]
        return [until, *([each.proposal_id for each in page] for page in pages), *far]

    assert await store.read(view) == [
        (NOW_MS + 1, "p2"),
        ["p4", "p3", "p2"],
        ["p1", "p0"],
        ["p3"],
        ["p4", "p3", "p2"],
        ["p3", "p1"],
        *(None, None, (NOW_MS, "p0"), None),
    ]


def ended(numbers: range, tx: Transaction) -> None:
    for number in numbers:
        document = a_document(proposal_id=f"past{number}")
        end = {"state": State.COMPLETED, "decided_at_ms": NOW_MS, "reason": "tool_succeeded"}
        tx.proposals.add(a_proposal(document, created_at_ms=NOW_MS - number, **end))


def steps_of(state: str, tx: Transaction) -> int:
    """Return how many steps SQLite takes to look for one's own proposals in a state."""
    steps = itertools.count()
    connection = tx.proposals.connection
    connection.set_progress_handler(lambda: next(steps) and None, 1)
    tx.proposals.own_of("leila", None, 9, state=state)
    connection.set_progress_handler(None, 1)
    return next(steps)


@pytest.mark.parametrize("state", [state.value for state in State if not state.terminal])
async def test_what_is_open_of_ones_own_is_found_without_a_look_at_what_has_ended(
    tmp_path: Path, state: str
) -> None:
    """An agent with a year behind it that asked each second kept the readers from all others."""
    store = await open_store("sqlite:///signoff.db", tmp_path)
    await store.write(filled)
    with_a_little = await store.read(partial(steps_of, state))

    await store.write(partial(ended, range(500)))
    with_much = await store.read(partial(steps_of, state))
    await store.close()

    assert with_much - with_a_little < 100, (with_a_little, with_much)


async def test_a_document_is_found_by_its_hash(store) -> None:
    await store.write(filled)
    known = await store.read(lambda tx: tx.proposals.get("p3"))
    assert await store.read(lambda tx: tx.proposals.with_r3(known.r3_s256)) == known
    assert await store.read(lambda tx: tx.proposals.with_r3("nobody")) is None
