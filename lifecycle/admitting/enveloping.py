"""An instruction envelope becomes a proposal like any other, or a question (design section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.as_sent import as_sent
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.first_gate.kind import Kind, kind_of
from lifecycle.first_gate.single_lines import control_character_faults
from lifecycle.llm.ingest import Chosen, EnvelopeRefused, Question, ingest, place_of
from lifecycle.llm.normalizer import our_terms
from lifecycle.llm.witness import of_unreadable
from lifecycle.policy import Policy
from lifecycle.text.masking import mask_secrets


def accept_any(obj: Mapping[str, Any], policy: Policy) -> Accepted | Question:
    """Judge a parsed object of any kind; raises Refused as `accept` does.

    A refused envelope carries its witness. The chosen candidate of an accepted one is judged like a
    Proposal that came alone, with its plan and witness beside it.
    """
    if not _is(Kind.ENVELOPE, obj):
        return accept(obj, policy)
    faults = control_character_faults(_without_candidates(obj))
    if faults:
        error = Refused(faults)
        raise EnvelopeRefused(error, of_unreadable(obj, error))
    found = ingest(obj, our_terms(policy.digest, frozenset(policy.rules)))
    if isinstance(found, Question):
        return found
    try:
        return _chosen(found, policy)
    except Refused as error:
        place = _place_of(found)
        placed = Refused(_placed(fault, place) for fault in error.faults)
        raise EnvelopeRefused(placed, of_unreadable(obj, placed)) from None


def _is(kind: Kind, obj: Mapping[str, Any]) -> bool:
    try:
        return kind_of(obj) is kind
    except Refused:
        return False


def _without_candidates(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return an envelope with the keys of its candidates alone: each is a document of its own, in
    which no name around it (`candidates.reply to`) makes a text a single line."""
    sent = obj.get("candidates")
    return {**obj, "candidates": dict.fromkeys(sent) if isinstance(sent, Mapping) else sent}


def _chosen(found: Chosen, policy: Policy) -> Accepted:
    if not _is(Kind.PROPOSAL, found.fields):
        words = "Send a Proposal as this candidate, with proposal_id; a plan yields nothing else."
        raise Refused([Fault("proposal_invalid_step", required="a Proposal", suggestion=words)])
    accepted = accept(found.fields, policy)
    extra = {
        "witness": found.witness["witnessId"],
        "witness_record": dict(found.witness),
        "plan": mask_secrets(dict(found.plan)),  # no rule reads it, and people only see it masked
    }
    return replace(accepted, kind=Kind.ENVELOPE, extra=extra, place=_place_of(found))


def _place_of(found: Chosen) -> str:
    return place_of(found.key)


def _placed(fault: Fault, place: str) -> Fault:
    return as_sent(fault, place, None) if fault.path else replace(fault, path=place)
