"""Show a call as AAP sees it: pending, approved, denied, expired or cancelled."""

from __future__ import annotations

from typing import Any, Final

from bot.intake.aap.book import Asked, in_clear, used_by
from bot.views import as_seen
from lifecycle import permit as permits
from lifecycle.errors import PermitRefused
from lifecycle.moment import rfc3339
from lifecycle.permit import KeyRing
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.records import PermitRecord
from lifecycle.state import State
from lifecycle.text.masking import mask_secrets, mask_text

_EXPIRED: Final = frozenset({"expired", "permit_expired"})


def shown(tx: Transaction, call: Asked, ring: KeyRing, now_ms: int) -> dict[str, Any]:
    """Return the whole object: the submission as it was sent, the status, the decision.

    It is masked if its proposal was masked after the call was asked about.
    """
    sent = mask_secrets(call.submission) if in_clear(tx, call) else call.submission
    content = dict(sent) | {
        "id": call.id,
        "created_at": rfc3339(call.created_at_ms),
        "deadline_at": rfc3339(call.deadline_ms),
    }
    standing = _standing(tx, call, ring, now_ms)
    if standing["status"] == "pending" and now_ms >= call.deadline_ms:
        standing = _decided("expired", call.deadline_ms)
    return content | standing


def _standing(tx: Transaction, call: Asked, ring: KeyRing, now_ms: int) -> dict[str, Any]:
    if call.refused is not None:
        return _decided("denied", call.refused_at_ms or call.created_at_ms, call.refused)
    if call.cancelled_at_ms is not None:
        return _decided("cancelled", max(call.cancelled_at_ms, call.created_at_ms))
    found = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    if found is None:
        return {"status": "pending"}
    seen = as_seen(found, now_ms)
    match seen.state:
        case State.PENDING:
            return {"status": "pending"}
        case State.SENTINEL_APPROVED if not seen.permit_waits:
            return {"status": "pending"}
        case State.REJECTED:
            return _rejected(seen, call)
        case State.SENTINEL_APPROVED | State.EXECUTING | State.COMPLETED | State.ROLLED_BACK:
            return _approved(tx, call, seen, ring, now_ms)


def _rejected(seen: Proposal, call: Asked) -> dict[str, Any]:
    at_ms = max(call.created_at_ms, seen.decided_at_ms or 0)
    if at_ms >= call.deadline_ms:
        return _decided("expired", call.deadline_ms)  # before its proposal, which had longer
    if seen.reason == "withdrawn":
        return _decided("cancelled", at_ms)
    if seen.reason in _EXPIRED:
        return _decided("expired", at_ms)
    return _decided("denied", at_ms, mask_text(seen.explanation) or str(seen.reason))


def _approved(
    tx: Transaction, call: Asked, seen: Proposal, ring: KeyRing, now_ms: int
) -> dict[str, Any]:
    kept = tx.permits.of(seen.proposal_id, Verb.EXECUTE.value, 1)
    if kept is None:
        return {"status": "pending"}
    if _came_too_late(tx, call, kept, now_ms):
        return _decided("expired", call.deadline_ms)
    issued_ms = max(_issued_ms(kept, ring), call.created_at_ms)
    decided = _decided("approved", issued_ms)
    decided["decision"]["expires_at"] = rfc3339(
        max(min(kept.expires_at_ms, call.deadline_ms), issued_ms + 1)
    )
    return decided | _consumption(tx, call, kept, issued_ms)


def _came_too_late(tx: Transaction, call: Asked, kept: PermitRecord, now_ms: int) -> bool:
    """Return True if the call's own time was over before anybody used the approval."""
    used_ms = now_ms if kept.consumed_at_ms is None else kept.consumed_at_ms
    return used_ms >= call.deadline_ms and not used_by(tx, call)


def _issued_ms(kept: PermitRecord, ring: KeyRing) -> int:
    """Return since when the permit holds; 0 if its key was rotated out and nobody can say."""
    try:
        return permits.read(kept.token, ring).not_before_ms
    except PermitRefused:
        return 0


def _consumption(
    tx: Transaction, call: Asked, kept: PermitRecord, issued_ms: int
) -> dict[str, Any]:
    if kept.consumed_at_ms is None:
        return {}
    consumed = {"consumed_at": rfc3339(max(kept.consumed_at_ms, issued_ms))}
    outcome = call.outcome if used_by(tx, call) else None
    return {"consumption": consumed | ({"outcome": dict(outcome)} if outcome else {})}


def _decided(status: str, at_ms: int, note: str | None = None) -> dict[str, Any]:
    decision = {"status": status, "decided_at": rfc3339(at_ms)}
    return {"status": status, "decision": decision | ({"note": note} if note else {})}
