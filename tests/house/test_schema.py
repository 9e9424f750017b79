"""The shipped schema is the one the model makes, and says what the gate says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lifecycle.schema import proposal_schema, schema_text
from tests.builders import MAIL, PROD, REFUND, a_document

CONDITION = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}
BINDING = {"evidence_id": "e1", "binding_type": "context", "required": True}
ENVELOPE = {
    "allowed_side_effects": ["email"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}
WINDOW = {"valid_from_ms": 1, "valid_until_ms": 2, "max_duration_ms": 1}


def test_the_shipped_schema_is_current(root: Path) -> None:
    shipped = (root / "schema" / "proposal.schema.json").read_text("utf-8")
    assert shipped == schema_text(), "run: .venv/bin/python -m scripts.write_schema"


@pytest.mark.parametrize(
    "document",
    [
        MAIL,
        PROD,
        REFUND,
        MAIL | {"task_id": "task-7", "preconditions": [CONDITION], "evidence_bindings": [BINDING]},
        MAIL | {"task_id": None, "risk_envelope": ENVELOPE, "time_window": WINDOW},
    ],
)
def test_valid_proposals_hold_under_it(document: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(proposal_schema())
    Draft202012Validator(proposal_schema()).validate(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"aproval_class": "dual"},
        {"intent": "x"},
        {"ts_ms": 0},
        {"ts_ms": "1"},
        {"proposal_id": "a b"},
        {"action_type": "WRITE"},
        {"approval_class": "triple"},
        {"target": {}},
        {"parameters": []},
        {"rollback_semantics": {"kind": "magic"}},
        {"task_id": "task 7"},
        {"task_id": ".."},
        {"preconditions": [CONDITION | {"evidence_ref": "e 1"}]},
        {"preconditions": [CONDITION | {"evidence_ref": "e" * 65}]},
        {"evidence_bindings": [BINDING | {"evidence_id": "."}]},
        {"risk_envelope": ENVELOPE | {"max_affected_records": 0}},
        {"time_window": WINDOW | {"max_duration_ms": 0}},
    ],
)
def test_what_the_gate_refuses_breaks_it(changes: dict[str, Any]) -> None:
    assert not Draft202012Validator(proposal_schema()).is_valid(a_document(MAIL, **changes))


def test_it_is_json_for_any_reader() -> None:
    assert json.loads(schema_text())["$schema"].endswith("2020-12/schema")


def test_its_words_are_for_agents_and_name_nothing_that_they_cannot_look_up() -> None:
    schema = proposal_schema()
    told = [schema, *schema["properties"].values(), *schema["$defs"].values()]
    words = " ".join(each.get("description", "") for each in told)
    assert not [word for word in ("seed", "V-PROP", "`") if word in words]
    assert "Your own id" in schema["properties"]["actor"]["description"]
