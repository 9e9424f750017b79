"""Compare the backlog task of a proposal with how the trail tells that it ended (ADR 0013)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lifecycle.agreeing.calls import at_words
from lifecycle.audit import AuditEntry
from lifecycle.event_kinds import EventKind
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Task

_DONE: Final = "done"
#: The kind of entry after the end that writes the task again.
_TELLS_AGAIN: Final = EventKind.REASON_GIVEN


def task_disagreements(
    tx: Transaction, proposal: Proposal, trail: Sequence[AuditEntry]
) -> list[str]:
    """Return a sentence for each respect in which the task differs from how its proposal ended.

    Empty if they agree. The ends of older versions do not tell what became of the task; they are
    not compared.
    """
    if proposal.task_id is None:
        return []
    kept = tx.backlog.get(proposal.actor.id, proposal.task_id)
    end = next((n for n, entry in enumerate(trail) if "task" in entry.event.details), None)
    if not proposal.terminal:
        found = _before_its_end(proposal, kept)
    elif end is None:
        found = iter(())
    else:
        found = _after_its_end(tx, proposal, kept, trail[end:])
    return [f"proposal {proposal.proposal_id}: {words}" for words in found]


def _before_its_end(proposal: Proposal, kept: Task | None) -> Iterator[str]:
    if kept is not None and kept.proposal_id == proposal.proposal_id:
        yield f"its task {kept.task_id} is {kept.state} for it, and it has not ended"


def _after_its_end(
    tx: Transaction, proposal: Proposal, kept: Task | None, rest: Sequence[AuditEntry]
) -> Iterator[str]:
    name, told = proposal.task_id, rest[0].event.details["task"]
    if kept is None:
        yield f"its task {name} is gone, entry {rest[0].seq} tells of it"
    elif kept.proposal_id != proposal.proposal_id:
        if not _settled_since(tx, proposal, kept.proposal_id):
            yield f"its task {name} stands for {kept.proposal_id}, which did not settle it"
    elif (kept.state, kept.reason, kept.explanation) != _as_it_ended(proposal, told):
        yield f"its task {name} does not stand as entry {rest[0].seq} tells"
    elif at_words(kept.updated_at_ms) != _last_told(rest):
        yield f"its task {name} was not settled when the trail tells"


def _settled_since(tx: Transaction, proposal: Proposal, other_id: str) -> bool:
    """Return True if another proposal of this proposer for the same task has ended."""
    other = tx.proposals.get(other_id)
    same = other is not None and (other.actor, other.task_id) == (proposal.actor, proposal.task_id)
    return same and other is not None and other.terminal


def _as_it_ended(proposal: Proposal, told: Any) -> tuple[Any, str, str]:
    if told == _DONE:
        return told, "", ""
    return told, proposal.reason or "", proposal.explanation


def _last_told(rest: Sequence[AuditEntry]) -> str:
    return [e.event.at for e in rest if e is rest[0] or e.event.kind == _TELLS_AGAIN][-1]
