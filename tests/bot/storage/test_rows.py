"""Every field of every record comes back as it was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.storage.connection import open_plain
from bot.storage.json_text import dump, load
from bot.storage.migrations import migrate
from bot.storage.rows import changes_of, own_copy, row_of
from bot.storage.transaction import SqliteTransaction
from lifecycle.policy import Level
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Cause,
    Execution,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.records import Card, EvidencePacket, Message
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Finding, RuleResult, Verdict
from tests.builders import a_proposal

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
#: Counts and times; the last is the end of the year 9999 in ms.
numbers = st.integers(0, 253_402_300_799_999)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, json_values, max_size=3)
identities = st.builds(Identity, st.sampled_from(ActorKind), words)
findings = st.builds(Finding, words, words, words, st.none() | st.sampled_from(Level))
results = st.builds(
    RuleResult, words, st.sampled_from(Level), st.lists(findings, max_size=2).map(tuple)
)
verdicts = st.builds(Verdict, st.lists(results, max_size=3).map(tuple), numbers, words)
causes = st.builds(Cause, identities, st.sampled_from(Puller), words, words)
executions = st.builds(
    Execution,
    verb=st.sampled_from(Verb),
    attempt=numbers,
    outcome=st.sampled_from(Outcome),
    receipt=st.none() | objects,
    window_opens_at_ms=st.none() | numbers,
    window_closes_at_ms=st.none() | numbers,
    tries=numbers,
    began_at_ms=numbers,
    early=st.booleans(),
    by_agent=st.booleans(),
    deferred=st.none() | st.booleans(),
    doubted=st.booleans(),
    still_stands=st.lists(json_values, max_size=2).map(tuple),
    explanation=words,
    cause=st.none() | causes,
)

#: How a field of this type is made; a new type of field needs a line here.
OF_TYPE = {
    "str": words,
    "int": numbers,
    "bool": st.booleans(),
    "bytes": st.binary(max_size=9),
    "State": st.sampled_from(State),
    "Tier": st.sampled_from(Tier),
    "Puller": st.sampled_from(Puller),
    "Attention": st.sampled_from(Attention),
    "Identity": identities,
    "Verdict": verdicts,
    "Execution": executions,
    "KeptStop": st.builds(KeptStop, words, words, numbers, words),
    "Mapping[str, Any]": objects,
    "Decision": st.sampled_from(Decision),
    "tuple[str, ...]": st.lists(words, max_size=3).map(tuple),
}


def made_of(kind: Any, **fixed: Any) -> st.SearchStrategy[Any]:
    def strategy(annotation: str) -> st.SearchStrategy[Any]:
        plain = annotation.removesuffix(" | None")
        made = OF_TYPE[plain]
        return made if plain == annotation else st.none() | made

    given_by = {f.name: strategy(f.type) for f in fields(kind) if f.name not in fixed}
    return st.builds(kind, **given_by, **{name: st.just(value) for name, value in fixed.items()})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("rows") / "signoff.db"
    with closing(open_plain(path, writing=True)) as connection:
        migrate(connection, path)
        yield connection


@contextmanager
def undone(plain: sqlite3.Connection) -> Iterator[SqliteTransaction]:
    """A transaction of which nothing remains."""
    plain.execute("BEGIN")
    try:
        yield SqliteTransaction(plain)
    finally:
        plain.execute("ROLLBACK")


def written(transaction: SqliteTransaction) -> SqliteTransaction:
    """The same transaction, which finds nothing but what stands in the tables."""
    transaction.write_down()
    transaction.forget()
    return transaction


often = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@often
@given(proposal=made_of(Proposal), saved=made_of(Proposal))
def test_a_proposal_comes_back_whole(
    plain: sqlite3.Connection, proposal: Proposal, saved: Proposal
) -> None:
    with undone(plain) as transaction:
        transaction.proposals.add(proposal)
        assert written(transaction).proposals.get(proposal.proposal_id) == proposal
        moved = replace(saved, proposal_id=proposal.proposal_id)
        assert transaction.proposals.save(moved, proposal)
        assert transaction.proposals.get(proposal.proposal_id) == moved
        assert written(transaction).proposals.get(proposal.proposal_id) == moved


@pytest.mark.parametrize("at_hand", [True, False])
@often
@given(
    proposal=made_of(Proposal),
    moved=made_of(Proposal),
    left_alone=st.sets(st.sampled_from([field.name for field in fields(Proposal)])),
)
def test_a_move_that_leaves_some_fields_as_they_were_is_stored_whole(
    plain: sqlite3.Connection,
    proposal: Proposal,
    moved: Proposal,
    left_alone: set[str],
    at_hand: bool,
) -> None:
    moved = replace(moved, **{n: getattr(proposal, n) for n in ("proposal_id", *left_alone)})
    with undone(plain) as transaction:
        transaction.proposals.add(proposal)
        transaction.write_down()
        if not at_hand:
            transaction.forget()
        assert transaction.proposals.save(moved, proposal)
        assert written(transaction).proposals.get(proposal.proposal_id) == moved


@given(proposal=made_of(Proposal), moved=made_of(Proposal))
def test_the_columns_of_a_move_are_those_in_which_the_rows_differ(
    proposal: Proposal, moved: Proposal
) -> None:
    before, after = row_of(proposal), row_of(moved)

    changes = changes_of(moved, proposal)

    assert changes == {name: after[name] for name in changes}
    assert {name for name in after if after[name] != before[name]} <= changes.keys()


def test_one_and_true_in_a_receipt_are_not_the_same() -> None:
    before = a_proposal(frame={"value": 1})

    assert '"value":true' in changes_of(before.but(frame={"value": True}), before)["rest"]


@given(proposal=made_of(Proposal))
def test_a_copy_of_its_own_is_equal_and_shares_nothing_that_can_be_changed(
    proposal: Proposal,
) -> None:
    own = own_copy(proposal, 10**6)

    assert own == proposal
    assert own is not None
    if proposal.frame:
        assert own.frame is not proposal.frame
    if proposal.execution and proposal.execution.receipt:
        assert own.execution is not None
        assert own.execution.receipt is not proposal.execution.receipt


def test_what_is_large_is_copied_by_nobody() -> None:
    assert own_copy(a_proposal(frame={"value": "x" * 100}), 100) is None
    assert own_copy(a_proposal(), 10) is None


@often
@given(
    review=made_of(Review, proposal_id="p1"),
    card=made_of(Card, proposal_id="p1"),
    message=made_of(Message, not_before_ms=0),
    packet=made_of(EvidencePacket),
)
def test_small_records_come_back_whole(
    plain: sqlite3.Connection,
    review: Review,
    card: Card,
    message: Message,
    packet: EvidencePacket,
) -> None:
    with undone(plain) as transaction:
        transaction.proposals.add(a_proposal())
        transaction.reviews.add(review)
        transaction.cards.put(card)
        transaction.outbox.add(message)
        transaction.evidence.put(packet)
        written(transaction)
        assert transaction.reviews.of("p1") == [review]
        assert transaction.cards.of("p1") == [card]
        assert transaction.outbox.waiting(message.surface, 0, 9) == [message]
        assert transaction.evidence.get(packet.evidence_id) == packet


@given(json_values)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    again = load(dump(value))

    assert (again, repr(again)) == (value, repr(value))


def test_a_field_without_a_column_of_its_own_is_kept_all_the_same() -> None:
    assert "window_s" not in row_of(a_proposal())
    assert load(row_of(a_proposal(window_s=7))["rest"])["window_s"] == 7


def test_a_row_that_no_proposal_can_be_is_refused_with_its_id(
    plain: sqlite3.Connection,
) -> None:
    with undone(plain) as transaction:
        transaction.proposals.add(a_proposal())
        written(transaction)
        plain.execute("UPDATE proposals SET tool_tier = 'GOD'")
        with pytest.raises(StoreUnavailable, match="p1"):
            transaction.proposals.get("p1")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("version", 2**63 - 1),
        ("deadline_ms", 2**60),
        ("created_at_ms", -1),
        ("retry_at_ms", 10**15),
        ("permit_waits", b""),
    ],
)
def test_a_row_with_a_number_that_nothing_can_be_reckoned_with_is_refused_with_its_id(
    plain: sqlite3.Connection, column: str, value: object
) -> None:
    with undone(plain) as transaction:
        transaction.proposals.add(a_proposal())
        written(transaction)
        plain.execute(f"UPDATE proposals SET {column} = ?", (value,))
        with pytest.raises(StoreUnavailable, match=f"p1.*{column}"):
            transaction.proposals.get("p1")


@pytest.mark.parametrize(
    "column", ["shown_version", "wanted_version", "attempts", "retry_at_ms", "posted_at_ms"]
)
def test_what_is_no_number_in_the_row_of_a_card_counts_as_none(
    plain: sqlite3.Connection, column: str
) -> None:
    with undone(plain) as transaction:
        transaction.proposals.add(a_proposal())
        transaction.cards.put(Card("p1", "terminal", 1))
        written(transaction)
        plain.execute(f"UPDATE cards SET {column} = 'x', why = X'00ff', claim = X'00ff'")
        (card,) = transaction.cards.of("p1")
    assert not getattr(card, column)
    assert (card.why, card.claim) == ("", "")
