"""Where prohibited phrases are found (case C09), and how many are told."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.policy import Level
from tests.builders import MAIL, a_document
from tests.checking import found, sentinel_with, verdict_on


def mail(body: str) -> dict[str, Any]:
    return a_document(MAIL, parameters={"to": "pat@partner.example", "body": body})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"parameters": {"subject": "Final warning"}}, "parameters.subject"),
        ({"parameters": {"files": [{"name": "final_warning.pdf"}]}}, "parameters.files[0].name"),
        ({"parameters": {"images": [{"alt": "FINAL WARNING"}]}}, "parameters.images[0].alt"),
        ({"parameters": {"extra": {"title": "final warning"}}}, "parameters.extra.title"),
        ({"parameters": {"final warning": 1}}, 'parameters["final warning"]'),
        ({"parameters": {"lines": ["this is your final", "warning"]}}, "parameters.lines"),
        ({"justification": "This is the final warning"}, "justification"),
        ({"evidence": "final warning was due"}, "evidence"),
        ({"intent": "send a final warning"}, "intent"),
    ],
)  # fmt: skip
def test_C09_every_text_in_every_field_counts(changes: dict[str, Any], path: str) -> None:
    rule = {
        (code, where) for rule, code, where in found(a_document(MAIL, **changes)) if rule[0] == "p"
    }

    assert rule == {("prohibited_phrase", path)}


def test_C09_a_display_name_counts_for_both_rules() -> None:
    document = a_document(
        MAIL, parameters={"to": "pat@partner.example", "cc": "Final Warning <pat@partner.example>"}
    )

    assert found(document) == {
        ("prohibited_content", "prohibited_phrase", "parameters.cc"),
        ("recipients_allowed", "not_plain_address", "parameters.cc"),
    }


def test_the_phrase_is_found_in_any_of_many_texts() -> None:
    texts = [f"text {number}" for number in range(300)]
    texts[211] = "the final warning"

    paths = {path for _, _, path in found(a_document(MAIL, parameters={"texts": texts}))}

    assert paths == {"parameters.texts[211]", "parameters.texts"}


def test_a_hundred_findings_are_enough_and_soft_ones_hide_no_hard_one() -> None:
    texts = ["%2520"] * 300 + ["final warning"] * 300
    verdict = verdict_on(a_document(MAIL, parameters={"texts": texts}))

    assert len(verdict.findings_at(Level.HARD)) == 100
    assert len(verdict.findings_at(Level.SOFT)) == 100


def test_every_phrase_is_listed() -> None:
    both = sentinel_with("prohibited_content", phrases=["final warning", "last chance"])
    verdict = verdict_on(mail("final warning, last chance"), both)

    assert len(verdict.faults()) == 2
