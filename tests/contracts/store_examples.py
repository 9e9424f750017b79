"""What the contract of the store is told with: proposals in every state, and how they get there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle.audit import AuditEvent
from lifecycle.ports import ProposalStore, Transaction
from lifecycle.proposal import Execution, Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.verdict import Verdict
from tests.builders import ANA, NOW_MS, POLICY_DIGEST, a_document, a_proposal

MINUTE_MS = 60_000
VERDICT = Verdict((), NOW_MS, POLICY_DIGEST)


def waiting(name: str, **changes: Any) -> Proposal:
    """Return a pending proposal of this id."""
    return a_proposal(a_document(proposal_id=name), **changes)


def approved(name: str, **changes: Any) -> Proposal:
    """Return a sentinel_approved proposal of this id."""
    return waiting(name, state=State.SENTINEL_APPROVED, verdict=VERDICT, **changes)


def executing(
    name: str,
    closes_at_ms: int | None = NOW_MS,
    outcome: Outcome = Outcome.DONE,
    verb: Verb = Verb.EXECUTE,
    **changes: Any,
) -> Proposal:
    """Return an executing proposal of this id."""
    execution = Execution(verb, 1, outcome, window_closes_at_ms=closes_at_ms)
    return waiting(name, state=State.EXECUTING, verdict=VERDICT, execution=execution, **changes)


def rejected(name: str, reason: str = "rejected_by_person", **changes: Any) -> Proposal:
    """Return a proposal that ended at noon."""
    ended = {"state": State.REJECTED, "reason": reason, "decided_at_ms": NOW_MS, "decided_by": ANA}
    return waiting(name, **(ended | changes))


def ended(state: State, at_ms: int) -> dict[str, Any]:
    """Return the changes with which a proposal ends."""
    return {"state": state, "reason": "x", "decided_at_ms": at_ms, "decided_by": ANA}


def event(kind: str = "moved", **changes: Any) -> AuditEvent:
    """Return an audit event."""
    return AuditEvent(**({"at": "2026-03-02T12:00:00.000Z", "kind": kind} | changes))


def ids(proposals: Any) -> list[str]:
    """Return the ids in order."""
    return [proposal.proposal_id for proposal in proposals]


class InStore:
    """What every part of the contract does with its fixture `store`."""

    async def filled(self, store: ProposalStore, *proposals: Proposal) -> None:
        """Add proposals in one unit."""

        def unit(tx: Transaction) -> None:
            for proposal in proposals:
                tx.proposals.add(proposal)

        await store.write(unit)

    async def asked(self, store: ProposalStore, view: Callable[[Transaction], Any]) -> list[str]:
        """Return the ids that a question answers with."""
        return ids(await store.read(view))
