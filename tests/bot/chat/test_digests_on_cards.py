"""A card says of every digest how much of its value people are not shown (design section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.cards.fitting import Limits, fit
from tests.builders import REFUND, a_document, a_proposal, digest_value
from tests.cases.cards import a_card, written

SOME = "(a digest: how many bytes are not shown is known to the proposer alone) "
NONE = "(a digest: 0 bytes are not shown) "
LONG = digest_value("a long letter " * 20)


def shown(note: Any) -> str:
    parameters = REFUND["parameters"] | {"note": note}
    return written(a_card(a_proposal(a_document(REFUND, parameters=parameters))), "note").text


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (LONG, SOME),
        ({"deep": [LONG]}, SOME),
        ([LONG, digest_value("short")], SOME.replace("a digest", "2 digests")),
        (digest_value("short"), NONE),
        ({"s256": LONG["s256"]}, SOME),
        (digest_value("cut off…"), NONE),
    ],
)
def test_a_digest_says_first_whether_anything_is_kept_from_people(note: Any, said: str) -> None:
    assert shown(note).startswith(said)


@pytest.mark.parametrize("note", ["a plain text", {"sha256": "x"}, [], None, {"s256": 1, "n": 2}])
def test_a_value_without_a_digest_keeps_nothing_back(note: Any) -> None:
    assert "not shown" not in shown(note)


def test_an_excerpt_that_is_cut_does_not_cut_off_what_is_said_of_it() -> None:
    parameters = REFUND["parameters"] | {"note": digest_value("word " * 2000, excerpt_length=5000)}
    card = a_card(a_proposal(a_document(REFUND, parameters=parameters)))
    fitted = fit(card, Limits(value=300, label=80, fields=40, total=9000, measure=len))

    (note,) = [field for field in fitted.content.written if field.label == "note"]
    assert note.text.startswith(SOME)
    assert fitted.attachment is not None
    assert SOME in fitted.attachment.text
