"""The exact match of seed 003 against what the reference implementation answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lifecycle.agents.redemption import (
    approved_parameters,
    check_r3_document,
    verify_operation,
    verify_parameters,
)
from lifecycle.canonical import s256
from lifecycle.errors import PermitRefused


def cases(vectors: Path, name: str) -> Any:
    return json.loads((vectors / "aauth_r3" / name).read_text(encoding="utf-8"))


def outcome(case: dict[str, Any], stored: dict[str, bytes]) -> str:
    """Redeem one call the way a resource does: look up, verify bytes, operation, parameters."""
    try:
        if not case["r3_s256"]:
            approved_parameters(b"", "")
        document = stored.get(case["r3_s256"])
        if document is None:
            return "proposal_not_found"
        approved = approved_parameters(document, case["r3_s256"])
        if "operation" in case:
            verify_operation(case["operation"], json.loads(document)["operations"][0])
        verify_parameters(case["presented"], approved)
    except PermitRefused as refusal:
        return refusal.code
    return "ok"


def test_every_presented_call_is_judged_as_the_reference_judges_it(vectors):
    documents = cases(vectors, "r3_documents.json")
    stored = {entry["r3_s256"]: entry["body"].encode() for entry in documents.values()}
    judged = cases(vectors, "verify_parameters.json")

    ours = {case["name"]: outcome(case, stored) for case in judged}

    assert len(ours) == 30
    assert ours == {case["name"]: case["expected"].get("code", "ok") for case in judged}


def test_bytes_are_hashed_as_they_are_served(vectors):
    served = {e["r3_s256"] for e in cases(vectors, "r3_documents.json").values()}

    for case in cases(vectors, "bytes_as_served.json"):
        assert s256(case["bytes"].encode()) == case["s256"]
        assert (case["s256"] in served) is case["matches"]


def test_a_large_text_fits_what_the_reference_puts_in_its_place(vectors):
    for case in cases(vectors, "digest_parameter.json"):
        actual, approved = {"note": case["value"]}, {"note": case["expected"]}
        if "excerpt" in case["options"]:  # words of the caller's, which people cannot compare
            with pytest.raises(PermitRefused, match="excerpt"):
                verify_parameters(actual, approved)
        else:
            verify_parameters(actual, approved)


@pytest.mark.parametrize("name", ["is_proposal.json"])
def test_only_a_document_with_an_object_of_parameters_is_a_proposal(vectors, name):
    for case in cases(vectors, name):
        document = json.dumps(case["document"]).encode()
        try:
            approved_parameters(document, s256(document))
            found = True
        except PermitRefused:
            found = False
        assert found is case["isProposal"], case["name"]


def test_what_the_reference_takes_for_no_document_is_none_here(vectors):
    judged = cases(vectors, "invalid_documents.json")
    assert len(judged) == 5
    for case in judged:
        document = json.dumps(case["document"]).encode()
        with pytest.raises(PermitRefused) as refusal:
            approved_parameters(document, s256(document))
        assert refusal.value.code == case["expected"]["code"], case["name"]


def test_every_document_of_the_reference_is_one_here_and_named_by_its_hash(vectors):
    for entry in cases(vectors, "r3_documents.json").values():
        check_r3_document(json.loads(entry["body"]))
        assert s256(entry["body"].encode()) == entry["r3_s256"]
        assert entry["r3_uri"].endswith(f"/r3/{entry['r3_s256']}")
