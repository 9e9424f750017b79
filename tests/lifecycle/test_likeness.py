"""What is alike to whoever reads it, so that a person's no counts for it too."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.likeness import likeness_of


@pytest.mark.parametrize(
    "parameters",
    [
        {"to": ["pat@partner.example"], "body": "Hello"},
        {"to": "pat@partner.example", "body": "Hello", "bcc": []},
        {"to": "pat@partner.example", "body": "Hello", "cc": None, "reply_to": "", "headers": {}},
    ],
)
def test_what_is_empty_and_what_is_alone_in_a_list_make_no_other_content(
    parameters: dict[str, Any],
) -> None:
    plain = {"to": "pat@partner.example", "body": "Hello"}

    assert likeness_of("leila", "t", {}, parameters) == likeness_of("leila", "t", {}, plain)


REFUSED = {
    "to": ["pat@partner.example", "sam@partner.example"],
    "body": "Hello to all",
    "amount": "120.00",
    "currency": "USD",
    "items": [{"amount_minor": 12000}],
}


@pytest.mark.parametrize(
    "changes",
    [
        {"to": ["sam@partner.example", "pat@partner.example"]},
        {"to": ["sam@partner.example", "", "pat@partner.example", "Sam@partner.example"]},
        {"body": "Hel<b></b>lo to all"},
        {"body": "Hello <i hidden>7</i>to all"},
        {"body": "&#72;ello %74o <b>all</b>"},
        {"body": "Hel**lo** _to_ [all](https://x.example)"},
        {"body": "\u202ella ot olleH\u202c"},
        {"amount": "120"},
        {"amount": None, "amount_minor": 12000},
        {"amount_minor": 12000},
        {"items": [{"amount": "120.00"}]},
        {"x": ["", ""], "y": [[], None, {"z": [""]}]},
    ],
    ids=str,
)
def test_what_reads_the_same_is_alike(changes: dict[str, Any]) -> None:
    changed = REFUSED | changes

    assert likeness_of("leila", "t", {}, changed) == likeness_of("leila", "t", {}, REFUSED)


@pytest.mark.parametrize(
    "changes",
    [
        {"to": ["sam@partner.example"]},
        {"cc": ["eve@partner.example"]},
        {"amount": "1200"},
        {"amount": None, "amount_minor": 120},
        {"currency": "JPY"},
        {"body": "Hello to some"},
        {"body": "<b>Hello</b> to all of you"},
        {"body": "*"},
        {"items": [{"amount_minor": 12001}]},
        {"lines": ["b", "a"]},
    ],
    ids=str,
)
def test_what_reads_otherwise_is_not_alike(changes: dict[str, Any]) -> None:
    changed = REFUSED | changes

    assert likeness_of("leila", "t", {}, changed) != likeness_of("leila", "t", {}, REFUSED)


def test_the_order_of_lines_counts_where_they_are_no_recipients() -> None:
    one, other = {"steps": ["stop", "start"]}, {"steps": ["start", "stop"]}

    assert likeness_of("leila", "t", {}, one) != likeness_of("leila", "t", {}, other)


def test_a_text_that_is_all_markup_is_not_nothing() -> None:
    assert likeness_of("leila", "t", {}, {"q": "*"}) != likeness_of("leila", "t", {}, {})


def test_no_and_nothing_are_not_the_same() -> None:
    one, other = {"dry_run": False, "n": 0}, {}

    assert likeness_of("leila", "t", {}, one) != likeness_of("leila", "t", {}, other)


def test_imitations_of_a_content_are_alike() -> None:
    one = likeness_of("leila", "send-email", {"x": "Mail"}, {"body": "final", "n": [1, True]})
    other = likeness_of("leila", "send-email", {"x": "MAIL"}, {"n": [1.0, True], "BODY": "f1naI"})

    assert one == other
    assert one.startswith("sha256:")


@pytest.mark.parametrize(
    "change", [("ben", "t", {}, {}), ("leila", "u", {}, {}), ("leila", "t", {"a": "b"}, {}),
               ("leila", "t", {}, {"a": 2}), ("leila", "t", {}, {"a": True})]
)  # fmt: skip
def test_another_content_is_not_alike(change: tuple[str, str, Any, Any]) -> None:
    assert likeness_of(*change) != likeness_of("leila", "t", {}, {"a": 1})
