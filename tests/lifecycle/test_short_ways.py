"""A short way beside a long one: the same bytes, the same findings, the same row."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifecycle.audit import AuditEntry, AuditEvent, chained
from lifecycle.canonical import canonical_bytes, sha256_hex
from lifecycle.proposal import ActorKind, Identity, Proposal, Verb
from lifecycle.text.secret_names import secret_named
from lifecycle.text.secrets_found import Secret, _found, find_secrets
from tests.builders import a_proposal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    """
    password db_password PGPASSWORD Kennwort recovery_code seed_phrase mfa_codes DBPASS token
    next_page_token apiKey api_key keys key secretRef pin PIN
    userPin otp TOTP cookie cvv2 jwt authorization bearer Bearer basic Basic AKIAIOSFODNN7EXAMPLE
    xoxb-1234567890-abcdefghij ghp_0123456789abcdefghijABCDEFGHIJ01 sk-abcdefghijklmnopqrstuv
    postgres://u:pw@h/d hunter2 a1b2-c3 dXNlcjpwYXNz = : := => " ' -- --pass plain words of prose
    MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.abcdefghijklmnopqrstuvwxyz1
    """.split()
)


@given(at=TEXTS, kind=TEXTS, surface=st.none() | TEXTS, details=st.dictionaries(TEXTS, JSON))
@example(at="", kind=Verb.EXECUTE, surface=None, details={"verb": Verb.COMMIT, "n": -0.0})
def test_an_entry_hash_covers_the_canonical_bytes_of_the_whole_content(
    at: str, kind: str, surface: str | None, details: dict[str, object]
) -> None:
    actor = Identity(ActorKind.PERSON, "ana")
    event = AuditEvent(at, kind, actor, surface=surface, details=details)
    entry, written = chained(event, 7, "f" * 64)
    long_way = sha256_hex(b"f" * 64 + b":" + canonical_bytes(entry.content()))
    assert entry == AuditEntry(7, event, "f" * 64, long_way)
    assert written == canonical_bytes(details)


def test_what_has_no_canonical_form_is_refused_by_the_short_way_too() -> None:
    with pytest.raises(ValueError, match=r"."):
        chained(AuditEvent("now", "\ud800"), 1, "0" * 64)


@given(st.lists(WORDS | TEXTS, max_size=8).map(" ".join) | st.lists(WORDS).map("".join))
def test_the_first_look_for_a_credential_passes_over_none(text: str) -> None:
    found = [Secret(*each) for each in _found(text)]
    assert bool(find_secrets(text)) == bool(found)


@given(st.lists(WORDS | st.text("aAbBkKeEyYpPiInNsS_1", max_size=6), max_size=3).map("_".join))
def test_a_field_named_like_a_credential_is_looked_at_in_every_spelling(name: str) -> None:
    text = f'"{name}": "x9-k2-q7"'
    assert bool(find_secrets(text)) == bool(list(_found(text)))
    if secret_named(name) and name.replace("_", "").isalnum():
        assert find_secrets(text)


def test_a_changed_copy_is_what_replacing_the_fields_gives() -> None:
    row = a_proposal()
    row.read()
    other = replace(row, document=row.document.replace(b"leila", b"lei1a"))
    assert row.but(version=9, reason="x") == replace(row, version=9, reason="x")
    assert row.but(document=other.document).read() == other.read() != row.read()


def test_a_copy_with_a_field_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(TypeError, match="no_such_field"):
        a_proposal().but(no_such_field=1)


def test_what_a_store_reads_back_is_what_the_constructor_gives() -> None:
    row = a_proposal(task_id="t1")
    values = {each.name: getattr(row, each.name) for each in fields(Proposal)}
    needed = {name: values[name] for name in values if name not in ("extra", "frame", "reason")}
    assert Proposal.of(values) == row
    assert Proposal.of(needed) == Proposal(**needed)
    for wrong in ({**values, "no_such_field": 1}, {"proposal_id": "p1"}):
        with pytest.raises(TypeError):
            Proposal.of(wrong)
