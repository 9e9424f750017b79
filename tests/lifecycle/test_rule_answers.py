"""An answer is taken again only for the very same question."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from lifecycle.checking.rule_answers import _MOST, Answers
from lifecycle.policy import Level
from lifecycle.records import EvidencePacket
from lifecycle.tier import Tier
from lifecycle.verdict import RuleResult
from tests.builders import MAIL, NOW_MS
from tests.checking import facts_for, read

PACKET = EvidencePacket("e1", "crm-sensor", NOW_MS, NOW_MS, {"ok": True})
ANSWER = RuleResult("a", Level.HARD)


def test_an_answer_is_taken_again_at_another_time() -> None:
    answers, document, facts = Answers(), read(MAIL), facts_for(MAIL)
    answers.about(document, facts)["a"] = ANSWER

    assert answers.about(document, replace(facts, now_ms=NOW_MS + 1)) == {"a": ANSWER}


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": replace(facts_for(MAIL).tool)},
        {"tier": Tier.CONFIRM},
        {"proposer": "milo"},
        {"spent": {"USD": Decimal(1)}},
        {"evidence": {"e1": PACKET}},
        {"executing": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_no_answer_is_taken_again_where_anything_else_that_a_rule_may_know_differs(
    changes: dict[str, Any],
) -> None:
    answers, document, facts = Answers(), read(MAIL), facts_for(MAIL)
    answers.about(document, facts)["a"] = ANSWER

    assert answers.about(document, replace(facts, **changes)) == {}


def test_an_equal_document_is_another_question() -> None:
    answers, facts = Answers(), facts_for(MAIL)
    answers.about(read(MAIL), facts)["a"] = ANSWER

    assert answers.about(read(MAIL), facts) == {}


def test_the_oldest_question_is_forgotten_once_there_are_too_many() -> None:
    answers, facts = Answers(), facts_for(MAIL)
    documents = [read(MAIL) for _ in range(_MOST + 1)]
    for document in documents:
        answers.about(document, facts)["a"] = ANSWER

    assert answers.about(documents[1], facts) == {"a": ANSWER}
    assert answers.about(documents[0], facts) == {}
