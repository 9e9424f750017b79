"""An instruction envelope becomes a proposal like any other, or a question (design section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.as_sent import as_sent
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.first_gate.kind import Kind, kind_of, terms_of
from lifecycle.first_gate.single_lines import control_character_faults
from lifecycle.llm.envelope import refused
from lifecycle.llm.ingest import Chosen, EnvelopeRefused, Question, ingest
from lifecycle.llm.witness import of_unreadable
from lifecycle.policy import Policy
from lifecycle.text.masking import mask_secrets


def accept_any(obj: Mapping[str, Any], policy: Policy) -> Accepted | Question:
    """Judge a parsed object of any kind; raises Refused as `accept` does.

    A refused envelope carries its witness. The chosen candidate of an accepted one is judged like a
    Proposal that came alone, with its plan and witness beside it.
    """
    if not _is_envelope(obj):
        return accept(obj, policy)
    faults = control_character_faults(obj)
    if faults:
        error = Refused(faults)
        raise EnvelopeRefused(error, of_unreadable(obj, error))
    found = ingest(obj, terms_of(policy))
    if isinstance(found, Question):
        return found
    try:
        return _chosen(found, policy)
    except Refused as error:
        place = _place_of(found)
        placed = Refused([_placed(fault, place) for fault in error.faults], str(error))
        raise EnvelopeRefused(placed, of_unreadable(obj, placed)) from None


def _is_envelope(obj: Mapping[str, Any]) -> bool:
    try:
        return kind_of(obj) is Kind.ENVELOPE
    except Refused:
        return False


def _chosen(found: Chosen, policy: Policy) -> Accepted:
    if kind_of(found.fields) is not Kind.PROPOSAL:
        raise refused("proposal_invalid_step", "", "a Proposal")
    accepted = accept(found.fields, policy)
    extra = {
        "witness": found.witness["witnessId"],
        "witness_record": dict(found.witness),
        "plan": mask_secrets(dict(found.plan)),  # no rule reads it, and people only see it masked
    }
    return replace(accepted, kind=Kind.ENVELOPE, extra=extra, place=_place_of(found))


def _place_of(found: Chosen) -> str:
    return f"candidates.{found.key}"


def _placed(fault: Fault, place: str) -> Fault:
    return replace(fault, path=place) if not fault.path else as_sent(fault, Kind.ENVELOPE, place)
