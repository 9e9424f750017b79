"""Every change of a proposal passes this one door, with its audit event.

A unit calls `advance` for a move of the lifecycle, `end` for a move that has a cause, and `amend`
for a change of fields. Each writes with compare-and-swap, in one transaction with the event, and
notes that a new version of the cards is wanted; a terminal state also tells the proposer and the
backlog (ADR 0003).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.announcing import announce, want_cards
from lifecycle.answers import Sender
from lifecycle.audit import AuditEvent
from lifecycle.ending import task_state, tell_end
from lifecycle.errors import StaleProposal
from lifecycle.event_kinds import EventKind
from lifecycle.machine import checked_move
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Cause, Identity, Proposal
from lifecycle.review import BY_A_CROSS
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller

#: Attentions that stay although the proposal has ended.
_OUTLIVES_THE_END: Final = frozenset({Attention.ENVELOPE_EXCEEDED})
#: States in which people approve.
_UNDECIDED: Final = frozenset({State.PENDING, State.SENTINEL_APPROVED})
#: Kinds of entries after which no approval of before counts, whatever else they tell.
ASKS_ANEW: Final = frozenset({EventKind.RAISED, EventKind.RESTORED})
#: Fields whose new value stands in the entry that sets them, and nowhere else in the trail.
_TOLD: Final = ("deadline_ms", "reason_due_ms")
#: The detail by which an entry says that it voided approvals; its number may be 0.
_VOID: Final = "approvals_void"


def record(  # noqa: PLR0913 - an event has that many sides; all but four by keyword
    tx: Transaction,
    moment: Moment,
    kind: EventKind | Trigger,
    by: Identity | None,
    *,
    proposal: Proposal | None = None,
    sender: Sender | None = None,
    reason: str | None = None,
    moved: tuple[str | None, str | None] = (None, None),
    details: Mapping[str, Any] | None = None,
) -> None:
    """Append one audit event."""
    tx.audit.append(
        AuditEvent(
            at=moment.at,
            kind=kind.value,
            actor=by,
            proposal_id=proposal.proposal_id if proposal else None,
            source=moved[0],
            target=moved[1],
            surface=sender.surface if sender else None,
            event_id=sender.event_id if sender else None,
            digest=proposal.digest if proposal else None,
            policy_digest=moment.policy.digest,
            reason=reason,
            details=details or {},
        )
    )


def advance(  # noqa: PLR0913 - the one door; all but six by keyword
    tx: Transaction,
    moment: Moment,
    seen: Proposal,
    trigger: Trigger,
    by: Identity,
    puller: Puller,
    *,
    reason: str | None = None,
    explanation: str = "",
    sender: Sender | None = None,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Move `seen` by `trigger` and return it as it now stands; `changes` are fields set with it.

    Raises IllegalTransition if the table or the tier forbids the move, StaleProposal if the store
    holds another (state, version).
    """
    target = checked_move(seen.state, trigger, seen.tier, puller)
    moved = _judged(tx, moment, seen.but(state=target, version=seen.version + 1, **changes))
    if target.terminal:
        moved = _ended(moved, by, moment.now_ms, reason, explanation)
    _save(tx, moved, seen)
    record(
        tx,
        moment,
        trigger,
        by,
        proposal=moved,
        sender=sender,
        reason=reason,
        moved=(seen.state.value, target.value),
        details=dict(details or {}) | _told_of_the_end(tx, moved, changes),
    )
    want_cards(tx, moment, moved)
    if target.terminal:
        tell_end(tx, moment, moved)
    return moved


def end(
    tx: Transaction,
    moment: Moment,
    seen: Proposal,
    trigger: Trigger,
    cause: Cause,
    *,
    sender: Sender | None = None,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Bring `seen` to its end for `cause`, and return it as it now stands; raises as `advance`."""
    return advance(
        tx,
        moment,
        seen,
        trigger,
        cause.by,
        cause.puller,
        reason=cause.reason,
        explanation=cause.words,
        sender=sender,
        details=details,
        **changes,
    )


def amend(
    tx: Transaction,
    moment: Moment,
    seen: Proposal,
    kind: EventKind,
    by: Identity,
    *,
    reason: str | None = None,
    sender: Sender | None = None,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Change fields of `seen`, not its state, and return it as it now stands.

    `kind` names the audit event. Raises StaleProposal if the store holds another (state, version).
    """
    amended = seen.but(version=seen.version + 1, **changes)
    if amended.state in _UNDECIDED and _is_another(amended, seen, kind, details or {}):
        amended = amended.but(anew_version=amended.version)
    _save(tx, amended, seen)
    details = {**(details or {}), **{name: changes[name] for name in _TOLD if name in changes}}
    record(tx, moment, kind, by, proposal=amended, sender=sender, reason=reason, details=details)
    want_cards(tx, moment, amended)
    return amended


def call_for_attention(
    tx: Transaction,
    moment: Moment,
    seen: Proposal,
    attention: Attention,
    why: str,
    by: Identity,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Mark `seen` as something a person must look at, and announce that once on every surface.

    The entry tells `why`, and `details`. Raises StaleProposal as `amend` does.
    """
    amended = amend(
        tx,
        moment,
        seen,
        EventKind.ATTENTION,
        by,
        reason=attention.value,
        details={"why": why, **(details or {})},
        attention=attention,
        attention_why=why,
        **changes,
    )
    announce(
        tx,
        moment,
        f"attention:{amended.proposal_id}:{attention}:{amended.version}",
        f"{amended.proposal_id} ({amended.tool}) needs a person: {attention}. {why}",
        amended.proposal_id,
    )
    return amended


def _ended(
    moved: Proposal, by: Identity, now_ms: int, reason: str | None, explanation: str
) -> Proposal:
    keeps = moved.attention in _OUTLIVES_THE_END
    return moved.but(
        reason=reason,
        explanation=explanation,
        decided_by=by,
        decided_at_ms=now_ms,
        opener=None,
        waiting_for=None,
        kept_stop=None,
        permit_waits=False,
        reason_due_ms=moved.reason_due_ms if reason in BY_A_CROSS else None,
        attention=moved.attention if keeps else None,
        attention_why=moved.attention_why if keeps else "",
    )


def _told_of_the_end(
    tx: Transaction, moved: Proposal, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the entry of an end tells besides: the explanation, until when a reason may
    follow (ms UTC), and where its task goes. Empty for a move that ends nothing."""
    if not moved.terminal:
        return {}
    told = {"explanation": moved.explanation, "task": task_state(tx, moved)}
    due = {"reason_due_ms": moved.reason_due_ms} if "reason_due_ms" in changes else {}
    return {name: value for name, value in told.items() if value} | due


def _judged(tx: Transaction, moment: Moment, moved: Proposal) -> Proposal:
    """Set `anew_version` if a card may stand that does not show what Sentinel has judged now. In
    the moment in which a proposal came no card can."""
    if moved.state is not State.SENTINEL_APPROVED or moved.created_at_ms == moment.now_ms:
        return moved
    shown = any(card.message_ids for card in tx.cards.standing(moved.proposal_id))
    return moved.but(anew_version=moved.version) if shown else moved


def _is_another(
    amended: Proposal, seen: Proposal, kind: EventKind, details: Mapping[str, Any]
) -> bool:
    """Return whether people decide on something else than earlier cards show (`anew_version`)."""
    if kind in ASKS_ANEW or _VOID in details:
        return True
    now, before = amended.verdict, seen.verdict
    return (
        amended.tier is not seen.tier
        or amended.quorum != seen.quorum
        or amended.quorum_needs_people != seen.quorum_needs_people
        or amended.window_s != seen.window_s
        or (now is not before and (now and now.results) != (before and before.results))
    )


def _save(tx: Transaction, moved: Proposal, seen: Proposal) -> None:
    if not tx.proposals.save(moved, seen):
        raise StaleProposal
