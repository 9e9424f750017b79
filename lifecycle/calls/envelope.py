"""Compare what a receipt reports with the risk envelope that was approved (section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lifecycle.proposal import Proposal
from lifecycle.text.folding import folded


def envelope_excess(proposal: Proposal, receipt: Mapping[str, Any] | None) -> str | None:
    """Return in words how a receipt exceeds the envelope; None if it does not.

    Somebody else wrote the receipt. A value that is no number of records or no list of names counts
    as an excess, too. Raises ValueError if somebody wrote over the document.
    """
    envelope = proposal.read().risk_envelope
    if envelope is None or receipt is None:
        return None
    records = receipt.get("affected_records")
    if records is not None and not _within(records, envelope.max_affected_records):
        return (
            f"it reports {_shown(records)} affected records, allowed were at most "
            f"{envelope.max_affected_records}"
        )
    effects = receipt.get("effects")
    forbidden = set(map(folded, envelope.forbidden_effects))  # however it is spelt, as for the rule
    allowed = {each for each in envelope.allowed_side_effects if folded(each) not in forbidden}
    if effects is not None and not _are_among(effects, allowed):
        return "it reports effects that the envelope does not allow"
    return None


def may_be_judged(proposal: Proposal) -> bool:
    """Return False if somebody wrote over the document, so that nobody knows what it allows."""
    try:
        proposal.read()
    except ValueError:
        return False
    return True


def _within(records: Any, most: int) -> bool:
    return isinstance(records, int) and not isinstance(records, bool) and 0 <= records <= most


def _shown(records: Any) -> str:
    is_number = isinstance(records, (int, float)) and not isinstance(records, bool)
    return repr(records) if is_number else "no number of"


def _are_among(effects: Any, allowed: set[str]) -> bool:
    return isinstance(effects, list) and all(
        isinstance(effect, str) and effect in allowed for effect in effects
    )
