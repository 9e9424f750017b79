"""What a receipt reports, held against the envelope that was approved (design section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lifecycle.proposal import Proposal


def envelope_excess(proposal: Proposal, receipt: Mapping[str, Any] | None) -> str | None:
    """Say in words where a receipt reports more than the envelope allowed."""
    envelope = proposal.read().risk_envelope
    if envelope is None or receipt is None:
        return None
    records = receipt.get("affected_records")
    if records is not None and not _within(records, envelope.max_affected_records):
        return f"it reports {records!r} affected records, allowed were at most " + str(
            envelope.max_affected_records
        )
    effects = receipt.get("effects")
    if effects is None:
        return None
    allowed = set(envelope.allowed_side_effects) - set(envelope.forbidden_effects)
    if not isinstance(effects, list) or any(effect not in allowed for effect in effects):
        return "it reports effects that the envelope does not allow"
    return None


def _within(records: Any, most: int) -> bool:
    return isinstance(records, int) and not isinstance(records, bool) and records <= most
