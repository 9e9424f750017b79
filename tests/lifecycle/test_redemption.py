"""The actual call is the approved one, or it is refused (seed 003)."""

from __future__ import annotations

import pytest

from lifecycle.agents.redemption import (
    approved_parameters,
    check_r3_document,
    verify_parameters,
)
from lifecycle.canonical import r3_document, s256
from lifecycle.errors import PermitRefused
from tests.builders import digest_value


def refused(actual, approved) -> str:
    with pytest.raises(PermitRefused) as refusal:
        verify_parameters(actual, approved)
    assert refusal.value.code == "proposal_parameter_mismatch"
    return str(refusal.value)


def test_the_order_of_members_means_nothing():
    verify_parameters({"b": {"y": 1, "x": 2}, "a": 1}, {"a": 1, "b": {"x": 2, "y": 1}})


@pytest.mark.parametrize(
    ("actual", "approved"),
    [
        ("100", 100),
        (100, "100"),
        (True, 1),
        (1, True),
        (False, 0),
        (None, ""),
        (None, False),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([], {}),
        ({}, []),
        ([[]], [{}]),
        ({"a": True}, {"a": 1}),
        ({"a": None}, {}),
        ({}, {"a": None}),
        ("é", "e\u0301"),
        ("a", "a "),
        (float("nan"), float("nan")),
        (0.1, 0.2),
    ],
)
def test_values_that_only_look_alike_are_refused(actual, approved):
    refused({"v": actual}, {"v": approved})


def test_one_hundred_is_one_hundred_however_it_is_spelt():
    verify_parameters({"v": 100.0}, {"v": 100})


def test_no_parameter_may_be_missing_or_added():
    assert "missing" in refused({}, {"a": 1})
    assert "not approved" in refused({"a": 1, "b": 2}, {"a": 1})


def test_a_text_approved_by_hash_is_presented_whole():
    approved = {"body": digest_value("a long letter" * 20)}

    verify_parameters({"body": "a long letter" * 20}, approved)
    assert "hash" in refused({"body": "another letter"}, approved)
    assert "present its text" in refused({"body": approved["body"]}, approved)


def test_the_excerpt_that_people_saw_must_be_the_beginning_of_the_text():
    text = "Delete everything."
    shown = {"s256": s256(text.encode()), "excerpt": "Keep everything…"}

    assert "excerpt" in refused({"body": text}, {"body": shown})


@pytest.mark.parametrize("excerpt", ["Keep everything.", "Keep", "Keep everything. Then…", 7, ""])
def test_an_excerpt_that_is_not_cut_is_the_whole_text(excerpt):
    text = "Keep everything. And delete it."
    shown = {"s256": s256(text.encode()), "excerpt": excerpt}

    assert "ends with …" in refused({"body": text}, {"body": shown})


@pytest.mark.parametrize("shown", [{}, {"excerpt": "Keep it."}, {"excerpt": "Keep…"}])
def test_a_text_fits_its_excerpt_where_that_is_all_of_it_or_how_it_begins(shown):
    verify_parameters({"body": "Keep it."}, {"body": {"s256": s256(b"Keep it.")} | shown})


@pytest.mark.parametrize(
    ("changes", "required"),
    [
        ({}, None),
        ({"display": {"summary": "s"}}, None),
        ({"vocabulary": ""}, "a vocabulary"),
        ({"vocabulary": 7}, "a vocabulary"),
        ({"operations": []}, "at least one operation"),
        ({"operations": {"tool": "t"}}, "at least one operation"),
        ({"display": "s"}, "a summary in its display"),
        ({"display": {}}, "a summary in its display"),
        ({"version": 1}, "no version: its hash is its identity"),
    ],
)
def test_what_is_no_r3_document_is_refused_for_what_it_lacks(changes, required):
    document = {"vocabulary": "v", "operations": [{"tool": "t"}]} | changes
    if required is None:
        check_r3_document(document)
        return
    with pytest.raises(PermitRefused) as refusal:
        check_r3_document(document)
    assert refusal.value.code == "invalid_r3_document"
    assert str(refusal.value).endswith(f"An R3 document has {required}.")


@pytest.mark.parametrize("document", [[], "v", None, 7])
def test_what_is_no_object_is_no_r3_document(document):
    with pytest.raises(PermitRefused, match="An R3 document has an object"):
        check_r3_document(document)


def test_half_a_character_is_no_text_even_where_its_hash_was_approved():
    text = "abc \ud800"
    hashed = {"s256": s256(text.encode("utf-8", "surrogatepass"))}

    assert "half of a character" in refused({"body": text}, {"body": hashed})


def test_what_is_told_about_a_name_can_be_written():
    assert "?" in refused({"\ud800": 1}, {})
    refused({"\ud800": 1}, {}).encode()


def test_a_credential_in_place_of_a_parameters_name_is_not_repeated() -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3

    assert refused({token: 1}, {}) == 'The parameter "‹secret, 40 characters›" was not approved.'


def test_a_hash_inside_a_list_is_verified_too():
    approved = {"files": [{"name": "a", "content": digest_value("x" * 500)}]}

    verify_parameters({"files": [{"name": "a", "content": "x" * 500}]}, approved)
    refused({"files": [{"name": "a", "content": "y" * 500}]}, approved)


def test_the_parameters_are_read_from_the_stored_bytes():
    document = r3_document("v", {"tool": "t"}, None, {"a": 1})

    assert approved_parameters(document, s256(document)) == {"a": 1}


@pytest.mark.parametrize(
    ("document", "hashed", "code"),
    [
        (b'{"parameters":{"a":1}}', "", "proposal_not_referenced"),
        (b'{"parameters":{"a":1}}', "x", "digest_mismatch"),
        (b'{"operations":[]}', s256(b'{"operations":[]}'), "invalid_r3_document"),
        (b'{"parameters":[]}', s256(b'{"parameters":[]}'), "invalid_r3_document"),
    ],
)
def test_a_document_that_is_not_the_approved_one_is_refused(document, hashed, code):
    with pytest.raises(PermitRefused) as refusal:
        approved_parameters(document, hashed)

    assert refusal.value.code == code
