"""After every end the proposer is told once, and the task is done or goes back to the backlog."""

from __future__ import annotations

from typing import Any, Final

from lifecycle.answers import Answer, AuthorityOutcome
from lifecycle.callbacks import call_back, tell
from lifecycle.copied import is_of_a_copy
from lifecycle.moment import Moment, rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Attention, Proposal
from lifecycle.records import Task
from lifecycle.state import State
from lifecycle.text.masking import mask_text
from lifecycle.tier import Tier
from lifecycle.verdict import Verdict

#: How long the word to the proposer waits for the reason behind a bare ❌ (design section 6).
REASON_WAIT_MS: Final = 300_000
#: How long the outbox holds the message back from a proposer who is being answered directly.
ANSWER_GRACE_MS: Final = 10_000


def tell_end(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Settle the task, and tell the proposer unless a reason is still waited for."""
    settle_task(tx, moment, proposal)
    if proposal.reason_due_ms is None:
        tell_proposer(tx, moment, proposal)


def tell_proposer(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Put the message about the end into the outbox; its key makes it once."""
    key, body = end_key(proposal.proposal_id), answer_of(proposal).as_json()
    held_ms = ANSWER_GRACE_MS if moment.answering else 0
    tell(tx, moment, proposal, key, "ended", body, not_before_ms=moment.now_ms + held_ms)
    call_back(tx, moment, proposal.actor.id, key, "ended", body, proposal.proposal_id)


def end_key(proposal_id: str) -> str:
    """Return the outbox key of the one message about an end."""
    return f"end:{proposal_id}"


def tell_instead(tx: Transaction, moment: Moment, proposal_id: str, held_ms: int) -> None:
    """Keep the end for a proposer whose answer, which tells of it, could not be posted so far.

    It is held back for as long as that is tried again; `answered` takes it away.
    """
    proposal = tx.proposals.get(proposal_id)
    if proposal is not None and proposal.terminal:
        key, body = _instead_key(proposal_id), answer_of(proposal).as_json()
        tell(tx, moment, proposal, key, "ended", body, not_before_ms=moment.now_ms + held_ms)


def answered(tx: Transaction, moment: Moment, proposal_id: str) -> None:
    """Note that the answer was posted, so that nothing is told instead of it."""
    tx.outbox.delivered(_instead_key(proposal_id), moment.now_ms)


def _instead_key(proposal_id: str) -> str:
    return f"{end_key(proposal_id)}:unanswered"


def answer_of(proposal: Proposal, *, deduplicated: bool = False) -> Answer:
    """Return the answer object for a proposal as it stands; no credential leaves with it."""
    return Answer(
        proposal_id=proposal.proposal_id,
        state=proposal.state.value,
        tier=proposal.tier.value,
        outcome=_outcome(proposal),
        reason=proposal.reason,
        explanation=mask_text(proposal.explanation or _waiting_words(proposal)),
        digest=proposal.digest,
        deduplicated=deduplicated,
        errors=proposal.verdict.faults() if proposal.verdict else (),
        result=proposal.frame,
        execution=execution_json(proposal),
    )


def execution_json(proposal: Proposal) -> dict[str, Any] | None:
    """Return `execution` as it is shown. Its receipt is what the firewall let through, masked
    already.

    It is not masked once more: that would take a millisecond or two while the writer waits.
    """
    execution = proposal.execution
    if execution is None:
        return None
    opens, closes = execution.window_opens_at_ms, execution.window_closes_at_ms
    return {
        "verb": execution.verb.value,
        "attempt": execution.attempt,
        "outcome": execution.outcome.value,
        "receipt": proposal.frame,
        "window_opens_at": rfc3339(opens) if opens is not None else None,
        "window_closes_at": rfc3339(closes) if closes is not None else None,
    }


def verdict_json(verdict: Verdict | None) -> dict[str, Any] | None:
    """Return a verdict as it is shown: its time as people read it, not as it is stored."""
    if verdict is None:
        return None
    shown = verdict.as_json()
    return {"at": rfc3339(shown.pop("at_ms")), **shown}


def _outcome(proposal: Proposal) -> AuthorityOutcome:
    """Return what authority said; a BLOCK tool is denied before it is asked."""
    return AuthorityOutcome.DENY if proposal.tier is Tier.BLOCK else AuthorityOutcome.ALLOW


def _waiting_words(proposal: Proposal) -> str:
    if proposal.attention is Attention.CARD_UNDELIVERED and not proposal.terminal:
        return f"It waits until people can see it. {proposal.attention_why}."
    match proposal.state:
        case State.SENTINEL_APPROVED if proposal.waiting_for:
            return f"Approved; it waits for: {proposal.waits_for}."
        case State.SENTINEL_APPROVED if proposal.opener is None:
            return f"{judged_words(proposal.verdict)}; people decide."
        case State.EXECUTING if proposal.attention is not None:
            why = proposal.execution.explanation if proposal.execution is not None else ""
            return f"{why} A person has to look ({proposal.attention}).".strip()
        case _:
            return ""


def judged_words(verdict: Verdict | None) -> str:
    """Say what Sentinel thinks of a proposal that it lets pass."""
    if verdict is not None and verdict.needs_reason:
        return "Sentinel has an objection that people may override, with a reason"
    if verdict is not None and verdict.faults():
        return "Sentinel has something to note and nothing against it"
    return "Sentinel found nothing against it"


def task_state(tx: Transaction, proposal: Proposal) -> str | None:
    """Return where the task of an ended proposal goes: `done` or `backlog`.

    None if it has no task, or the task stays where it is, because in a copy nobody can say that it
    was not done.
    """
    if proposal.task_id is None or _may_be_done(tx, proposal):
        return None
    return "done" if proposal.state is State.COMPLETED else "backlog"


def settle_task(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Mark the task of an ended proposal as done, or put it back with the explanation."""
    state = task_state(tx, proposal)
    if proposal.task_id is None or state is None:
        return
    done = proposal.state is State.COMPLETED
    tx.backlog.put(
        Task(
            actor=proposal.actor.id,
            task_id=proposal.task_id,
            state=state,
            proposal_id=proposal.proposal_id,
            reason="" if done else proposal.reason or "",
            explanation="" if done else proposal.explanation,
            updated_at_ms=moment.now_ms,
        )
    )


def explain_task(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Write words that followed an end to its task, unless another proposal has settled the task
    since.

    A task that is done by now does not go back because of an older end.
    """
    kept = tx.backlog.get(proposal.actor.id, proposal.task_id) if proposal.task_id else None
    if kept is None or kept.proposal_id == proposal.proposal_id:
        settle_task(tx, moment, proposal)


def _may_be_done(tx: Transaction, proposal: Proposal) -> bool:
    by_person = proposal.decided_by is not None and proposal.decided_by.kind is ActorKind.PERSON
    return proposal.state is State.REJECTED and not by_person and is_of_a_copy(tx, proposal)
