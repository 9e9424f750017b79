"""What the judge is told: how a run ended from our rows, and its receipts from our trail.

A run has no row of its own: it begins with the first entry of its first proposal, and has ended
when each of its proposals has. Nothing is kept beside the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentbarrier import AuditEvent, AuditReceipt, RunOutcome, RunStatus, action_digest

from lifecycle.canonical import digest_of
from lifecycle.evidence import payload_digest
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Proposal
from lifecycle.state import State
from tests.judges.house import action_of

OVERTIME: Final = "did not answer within"
_MOST: Final = 10_000
_CANCELLED: Final = frozenset({"withdrawn", "rolled_back_by_person"})
_OVER: Final = {
    RunStatus.COMPLETED: AuditEvent.RUN_COMPLETED,
    RunStatus.CANCELLED: AuditEvent.RUN_CANCELLED,
    RunStatus.TIMED_OUT: AuditEvent.RUN_TIMED_OUT,
    RunStatus.UNKNOWN: AuditEvent.RUN_UNKNOWN,
    RunStatus.FAILED: AuditEvent.RUN_FAILED,
}
#: What a look that settles nothing found; what settles something is told by the person's word.
_LOOKED: Final = {
    "conflict": AuditEvent.RECONCILIATION_CONFLICT,
    "unavailable": AuditEvent.RECONCILIATION_UNAVAILABLE,
    "timed_out": AuditEvent.RECONCILIATION_TIMED_OUT,
}


def outcome_of(rows: Sequence[Proposal]) -> RunOutcome | None:
    """Return how a run ended whose actions stand as in `rows`; None where it has not."""
    for row in rows:
        if row.attention is Attention.OUTCOME_UNKNOWN and row.execution is not None:
            why = row.execution.explanation
            return RunOutcome(RunStatus.TIMED_OUT if OVERTIME in why else RunStatus.UNKNOWN, why)
    if not all(row.terminal for row in rows):
        return None
    reasons = [row.reason for row in rows]
    if not _CANCELLED.isdisjoint(reasons):
        return RunOutcome(RunStatus.CANCELLED, ", ".join(map(str, reasons)))
    if any(row.state is State.ROLLED_BACK for row in rows):
        return RunOutcome(RunStatus.FAILED, "; ".join(row.explanation for row in rows))
    return RunOutcome(RunStatus.COMPLETED, ", ".join(map(str, reasons)))


def receipts_of(tx: Transaction, run_id: str, ids: Sequence[str]) -> tuple[AuditReceipt, ...]:
    """Return the receipts of a run, in the order of the chain.

    `ids` are its proposals, the one that stands for an action last.
    """
    rows = [row for row in map(tx.proposals.get, ids) if row is not None and row.task_id == run_id]
    entries = tx.audit.exported(0, _MOST)
    told = [told for entry in entries for told in _told(tx, entry, rows)]
    trail = [
        entry for entry in entries if entry["proposal_id"] in {row.proposal_id for row in rows}
    ]
    if trail:
        told.insert(0, _Told(AuditEvent.RUN_STARTED, trail[0]))
    outcome = outcome_of(list({action_of(row).action_id: row for row in rows}.values()))
    if outcome is not None and trail:
        told.append(_Told(_OVER[outcome.status], trail[-1]))
    return tuple(each.receipt(run_id, sequence) for sequence, each in enumerate(told, start=1))


@dataclass(frozen=True, slots=True)
class _Told:
    """What an entry of the trail is to the judge; without a row it is about the run."""

    event: AuditEvent
    entry: Mapping[str, Any]
    row: Proposal | None = None

    def receipt(self, run_id: str, sequence: int) -> AuditReceipt:
        action = action_of(self.row) if self.row is not None else None
        moment = datetime.fromisoformat(self.entry["at"])
        return AuditReceipt(
            sequence,
            run_id,
            self.event,
            int(moment.timestamp() * 1000) * 1_000_000,
            action_id=action.action_id if action else None,
            action_digest=action_digest(action) if action else None,
            detail=self.entry["reason"],
        )


def _told(tx: Transaction, entry: Mapping[str, Any], rows: Sequence[Proposal]) -> Iterator[_Told]:
    """Tell an entry where it is about one of `rows`, and bound to the very bytes of its row."""
    seen = _seen_outside(tx, entry)
    digest = seen["proposal_digest"] if seen else entry["digest"]
    for row in rows:
        if digest == row.digest == digest_of(row.document):
            event = _LOOKED.get(seen["found"]) if seen else _event_of(entry)
            if event is not None:
                yield _Told(event, entry, row)


def _seen_outside(tx: Transaction, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a source saw, where this entry's digest is that of what stands on record."""
    if entry["kind"] != "evidence_recorded":
        return None
    packet = tx.evidence.get(entry["details"]["evidence_id"])
    intact = packet is not None and payload_digest(packet) == entry["details"]["payload"]
    return packet.payload if packet is not None and intact else None


def _event_of(entry: Mapping[str, Any]) -> AuditEvent | None:
    details = entry["details"]
    match entry["kind"]:
        case "sentinel_approve" if details["needs_people"]:
            return AuditEvent.APPROVAL_REQUESTED
        case "reviewed" if details["decision"] == "approve":
            return AuditEvent.APPROVED
        case "reject" if entry["reason"] == "rejected_by_person":
            return AuditEvent.REJECTED
        case "attention" if entry["reason"] == Attention.OUTCOME_UNKNOWN:
            return AuditEvent.RECONCILIATION_STARTED  # it calls a person to look
        case "settled" if details["happened"]:
            return AuditEvent.RECONCILIATION_COMMITTED
        case "settled":
            return AuditEvent.RECONCILIATION_NOT_COMMITTED
        case _:
            return None
