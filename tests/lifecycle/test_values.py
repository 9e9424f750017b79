"""Where a document holds texts, recipients, paths and amounts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.records import Money
from lifecycle.text.amounts import amounts_of, decimals_of, read_amounts, value_of
from lifecycle.text.field_names import readings_of
from lifecycle.text.path_values import paths_in, paths_of
from lifecycle.text.recipients import recipients_in
from lifecycle.text.values import content_of, texts_in
from tests.builders import MAIL, a_document
from tests.checking import read


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reply_to", ("reply", "to")),
        ("X-Forward-To", ("x", "forward", "to")),
        ("replyTo", ("reply", "to")),
        ("cc2", ("cc",)),
        ("HTTPHeaders", ("http", "headers")),
        ("tо", ("to",)),
        ("b\u200bcc", ("bcc",)),
        ("１", ()),
        ("", ()),
    ],
)
def test_a_name_has_words_in_any_style(name: str, words: tuple[str, ...]) -> None:
    assert readings_of(name)[0] == words


def test_texts_are_found_in_every_field_and_name() -> None:
    document = read(a_document(MAIL, parameters={"a b": ["x", {"k": "y"}], "n": 1}, intent="z"))

    found = {(place.path, place.value) for place in texts_in(content_of(document))}

    assert {
        ('parameters["a b"]', "a b"),
        ('parameters["a b"][0]', "x"),
        ('parameters["a b"][1].k', "k"),
        ('parameters["a b"][1].k', "y"),
        ("parameters.n", "n"),
        ("intent", "z"),
        ("target.domain", "shop.example"),
        ("actor", "leila"),
    } <= found
    assert ("target.domain", "domain") not in found


def test_recipients_are_found_below_names_and_headers() -> None:
    content = {
        "parameters": {"to": "a", "x": {"cc": ["b", None]}, "headers": {"n": 1}, "tool": "c"},
        "target": {"constraints": {"sender": "d"}},
    }

    assert [(place.path, place.value) for place in recipients_in(content)] == [
        ("parameters.to", "a"),
        ("parameters.x.cc[0]", "b"),
        ("parameters.headers.n", 1),
        ("target.constraints.sender", "d"),
    ]


@pytest.mark.parametrize(
    ("parameters", "paths"),
    [
        ({"path": "a"}, ["parameters.path"]),
        ({"name": "a"}, []),
        ({"name": "yes and/or maybe"}, []),
        ({"name": "first a/b\nthen c"}, []),
        ({"name": ".. and so on"}, []),
        ({"name": "and/or maybe"}, ["parameters.name"]),
        ({"name": "old files/../../etc"}, ["parameters.name"]),
        ({"name": "x y/.."}, ["parameters.name"]),
        ({"name": "x y/\u2024\u2024/z"}, ["parameters.name"]),
        ({"name": "x y\\..\\z"}, ["parameters.name"]),
        ({"name": "a/b"}, ["parameters.name"]),
        ({"name": "../a b"}, ["parameters.name"]),
        ({"name": "~"}, ["parameters.name"]),
        ({"name": "a%2fb"}, ["parameters.name"]),
        ({"sourceFiles": [["a", 1]]}, ["parameters.sourceFiles[0][0]"]),
        ({"file_name": "a", "fileName": "b"}, ["parameters.file_name", "parameters.fileName"]),
        ({"profile": "a", "profile_name": "b", "file_type": "c"}, []),
    ],
)
def test_path_like_values_are_found(parameters: dict[str, Any], paths: list[str]) -> None:
    assert [place.path for place in paths_in(parameters)] == paths


@pytest.mark.parametrize(
    ("resource_id", "paths"),
    [
        ("leads-2024", []),
        ("www", []),
        ("crm:leads", []),
        ("/etc/passwd", ["target.resource_id"]),
        ("../leads", ["target.resource_id"]),
    ],
)
def test_a_target_is_a_path_only_where_it_is_written_like_one(
    resource_id: str, paths: list[str]
) -> None:
    target = MAIL["target"] | {"resource_id": resource_id}

    assert [place.path for place in paths_of(read(a_document(MAIL, target=target)))] == paths


def test_paths_are_found_among_the_constraints_too() -> None:
    target = MAIL["target"] | {"constraints": {"dir": "x", "note": "a b", "deep": [{"n": "../y"}]}}
    document = read(a_document(MAIL, target=target, parameters={"file": "z"}))

    assert [place.path for place in paths_of(document)] == [
        "parameters.file",
        "target.constraints.dir",
        "target.constraints.deep[0].n",
    ]


@pytest.mark.parametrize(
    ("parameters", "amounts"),
    [
        ({"amount": "120.00", "currency": "USD"}, [("USD", "120.00")]),
        ({"amount_minor": 12000, "currency": "USD"}, [("USD", "120.00")]),
        ({"amount_minor": 120, "currency": "JPY"}, [("JPY", "120")]),
        ({"amount": "1.5", "currency": "USD"}, []),
        ({"amount": 5, "currency": "USD"}, []),
        ({"amount": "5.00"}, []),
        ({"amount": "-5.00", "currency": "USD"}, []),
        (
            {"currency": "USD", "items": [{"amount": "1.00"}, {"amount": "2", "currency": "EUR"}]},
            [("EUR", "2"), ("USD", "1.00")],
        ),
        ({"amount": "3.00", "currency": "USD", "fee": {"amount": "3.00"}}, [("USD", "6.00")]),
        ({"amount": "3.00", "currency": "USD", "items": [{"amount": "3.00"}]}, [("USD", "3.00")]),
        (
            {"amount": "3.00", "currency": "USD"}
            | {name: [{"amount": "3.00"}] for name in ("items", "payments", "fees")},
            [("USD", "9.00")],
        ),
    ],
)
def test_a_document_spends_what_its_amounts_come_to(
    parameters: dict[str, Any], amounts: list[tuple[str, str]]
) -> None:
    assert amounts_of(parameters) == tuple(Money(c, Decimal(a)) for c, a in amounts)


@pytest.mark.parametrize(
    ("constraints", "amount"),
    [
        ({}, "1.00"),
        ({"amount": "1.00", "currency": "USD"}, "1.00"),
        ({"amount": "9.00", "currency": "USD"}, "10.00"),
        ({"limits": {"amount_minor": 900, "currency": "USD"}}, "10.00"),
    ],
)
def test_what_the_constraints_of_the_target_say_is_spent_too(
    constraints: dict[str, Any], amount: str
) -> None:
    spent = amounts_of({"amount": "1.00", "currency": "USD"}, constraints)

    assert spent == (Money("USD", Decimal(amount)),)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["amount", "currency", "items", "amount_minor"]), inner
            )
        ),
    )
)
def test_reading_amounts_never_fails(value: Any) -> None:
    read_amounts({"items": value, "amount": value, "currency": "USD"})


@pytest.mark.parametrize(("currency", "decimals"), [("USD", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4)])
def test_currencies_have_their_decimals(currency: str, decimals: int) -> None:
    assert decimals_of(currency) == decimals


def test_the_longest_amount_is_still_exact() -> None:
    assert value_of("999999999999999999.99", "USD") == Decimal("999999999999999999.99")
    assert value_of("9999999999999999999", "USD") is None
