"""An id is shown and kept for ever: it is no credential (design section 4, step 4)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.structure import identifier_faults
from lifecycle.schema import proposal_schema
from tests.builders import MAIL, a_document, a_policy

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
CREDENTIALS = [TOKEN, "AKIA" + "IOSFODNN7EXAMPLE", "xoxb-1234567890-abcdefghij", "sk-" + "aB3" * 9]


@pytest.mark.parametrize("value", CREDENTIALS)
def test_an_id_that_is_a_credential_is_refused_and_never_repeated(value: str) -> None:
    with pytest.raises(Refused) as refused:
        accept(a_document(MAIL, proposal_id=value), a_policy())

    (fault,) = refused.value.faults
    assert (fault.code, fault.path) == ("invalid_identifier", "proposal_id")
    assert value not in json.dumps(fault.as_json())


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"task_id": TOKEN}, "task_id"),
        ({"preconditions": [{"evidence_ref": TOKEN}]}, "preconditions[0].evidence_ref"),
        (
            {"evidence_bindings": [{"evidence_id": TOKEN}]},
            "evidence_bindings[0].evidence_id",
        ),
    ],
)
def test_so_is_every_other_id(fields: dict[str, Any], path: str) -> None:
    assert [(fault.code, fault.path) for fault in identifier_faults(fields)] == [
        ("invalid_identifier", path)
    ]


@pytest.mark.parametrize("value", [".", "..", "..."])
def test_a_step_of_a_path_is_no_id(value: str) -> None:
    """It would name another place than its own in an address and among files."""
    places = {
        "proposal_id": value,
        "task_id": value,
        "preconditions": [{"evidence_ref": value}],
        "evidence_bindings": [{"evidence_id": value}],
    }

    faults = list(identifier_faults(places))

    assert [fault.code for fault in faults] == ["invalid_identifier"] * 4
    assert faults[0].actual == "dots alone"


def test_the_schema_knows_no_step_of_a_path_either() -> None:
    pattern = re.compile(proposal_schema()["properties"]["proposal_id"]["pattern"])

    found = [
        value for value in (".", "..", "...", "a..b", ".a", "-", "p1") if pattern.search(value)
    ]

    assert found == ["a..b", ".a", "-", "p1"]


@pytest.mark.parametrize(
    "value",
    [
        "p1",
        "..a",
        "v1.",
        "550e8400-e29b-41d4-a716-446655440000",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "key-d41d8cd98f00b204e9800998ecf8427e",
        "sk-zimna-kolekcia-2026-akcia",
        "send-email_2026-03-02.17",
        "V1StGXR8_Z5jdHi6B-myT",
        "password-reset-4711",
    ],
)
def test_ids_of_honest_programs_stay(value: str) -> None:
    assert list(identifier_faults({"proposal_id": value, "task_id": value})) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a" * 65, "65 characters"),
        ("a b", "3 characters, others among them"),
        ("a " * 40, "80 characters, others among them"),
    ],
)
def test_an_id_that_is_only_too_long_is_not_said_to_hold_other_characters(
    value: str, said: str
) -> None:
    (fault,) = identifier_faults({"task_id": value})
    assert fault.actual == said
