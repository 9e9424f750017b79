"""Whether rows say what the trail tells: what is stored can be verified, not the chain alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lifecycle.agreeing_reviews import about_reviews
from lifecycle.audit import AuditEntry
from lifecycle.books import Transaction
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.fitting import fits_its_digest
from lifecycle.judging import verdict_details
from lifecycle.moment import rfc3339
from lifecycle.policy import ApprovalClass
from lifecycle.proposal import ActorKind, Execution, Proposal
from lifecycle.quorum import approval_class_of
from lifecycle.retelling import retold
from lifecycle.review import Review
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, Tier
from lifecycle.told import UNTOLD, Told

_SUBMITTED: Final = "submitted"
#: How many people a class asks for at least, whatever a config says.
_ASKED_FOR: Final = {ApprovalClass.SINGLE: 1, ApprovalClass.DUAL: 2, ApprovalClass.THRESHOLD: 1}


def disagreements(
    proposal: Proposal, trail: Sequence[AuditEntry], reviews: Sequence[Review]
) -> list[str]:
    """Return a sentence for everything in which a row and its reviews differ from their trail.

    Empty where they agree. The trail itself is verified elsewhere (`audit.broken_links`).
    """
    if not trail:
        return [f"proposal {proposal.proposal_id}: no entry tells of it"]
    told = retold(trail)
    found = [
        *_about_its_state(proposal, told),
        *_about_its_end(proposal, told),
        *_about_its_beginning(proposal, trail[0], told),
        *_about_its_bytes(proposal, trail, told),
        *_about_its_call(proposal, told),
        *_about_its_stop(proposal, told),
        *_about_who_decides(proposal, told),
        *_about_its_verdict(proposal, told),
        *about_reviews(proposal, trail, reviews),
        *told.odd,
    ]
    return [f"proposal {proposal.proposal_id}: {words}" for words in found]


def may_begin_as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Say whether the trail tells of a row and its reviews as they stand, for what is to begin.

    A document, a state or an approval that somebody put there by hand is told of nowhere.
    """
    trail = tx.audit.of(proposal.proposal_id)
    return not disagreements(proposal, trail, tx.reviews.of(proposal.proposal_id))


def stands_as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Say whether the trail tells that this is under way, as it is, and that no ❌ waits.

    For what calls a tool for an execution that began before: nothing but the row says that it did.
    """
    trail = tx.audit.of(proposal.proposal_id)
    told = retold(trail)
    differs = (
        *_about_its_bytes(proposal, trail, told),
        *_about_its_call(proposal, told),
        *_about_its_stop(proposal, told),
    )
    return told.state == proposal.state and not differs


def receipt_digest(receipt: Mapping[str, Any] | None) -> str:
    """Return the digest by which the trail knows what a tool answered."""
    return digest_of(canonical_bytes(receipt))


def begins(kind: object) -> bool:
    """Say whether an entry of this kind is the first of a proposal, which then must have a row."""
    return kind == _SUBMITTED


def _about_its_state(proposal: Proposal, told: Told) -> Iterator[str]:
    moved = told.moved
    if moved is None:
        yield f"its state is {proposal.state}, and no entry moved it there"
    elif told.state != proposal.state:
        yield f"its state is {proposal.state}, entry {moved.seq} says {told.state}"
    elif proposal.terminal and moved.event.reason != proposal.reason:
        yield f"its reason is {proposal.reason}, entry {moved.seq} says {moved.event.reason}"


def _about_its_end(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare who ended it, when and with which words; what is open has no end."""
    moved = told.moved
    if moved is None or told.state != proposal.state:
        return
    if not proposal.terminal:
        if proposal.decided_by or proposal.decided_at_ms is not None or proposal.reason:
            yield "it is open, and has an end"
        return
    event, seq = moved.event, moved.seq
    if proposal.decided_by != event.actor:
        yield f"it was decided by {proposal.decided_by}, entry {seq} says {event.actor}"
    if _at(proposal.decided_at_ms) != event.at:
        yield f"it was decided at {_at(proposal.decided_at_ms)}, entry {seq} says {event.at}"
    yield from _differs("explanation", proposal.explanation, told.explanation)


def _about_its_beginning(proposal: Proposal, first: AuditEntry, told: Told) -> Iterator[str]:
    event = first.event
    if not begins(event.kind):
        yield f"its first entry {first.seq} is no submission"
        return
    yield from _differs("proposer", proposal.actor, event.actor)
    yield from _differs("surface", proposal.surface, event.surface)
    yield from _differs("tool", proposal.tool, event.details.get("tool", UNTOLD))
    yield from _differs("time of submission", _at(proposal.created_at_ms), event.at)
    if told.deadline_ms is not UNTOLD:
        yield from _differs("deadline", _at(proposal.deadline_ms), _at(told.deadline_ms))


def _about_its_bytes(proposal: Proposal, trail: Sequence[AuditEntry], told: Told) -> Iterator[str]:
    other = next((entry for entry in trail if entry.event.digest != proposal.digest), None)
    if other is not None:
        yield f"its digest is not the one of entry {other.seq}"
    if proposal.masked:
        if not _was_masked(told):
            yield "it is kept masked, and no entry tells why"
        return
    if not fits_its_digest(proposal):
        yield "what is stored does not fit its digest"
        return
    window = proposal.read().time_window
    if proposal.valid_from_ms != (window.valid_from_ms if window else None):
        yield f"it may begin at {_at(proposal.valid_from_ms)}, its document says another time"
    if window is not None and proposal.deadline_ms > window.valid_until_ms:
        yield f"its deadline is {_at(proposal.deadline_ms)}, its document ends before that"


def _was_masked(told: Told) -> bool:
    """Say whether it ended as what is kept masked only: a credential was, or may be, in it."""
    if told.state != State.REJECTED or told.moved is None:
        return False
    event = told.moved.event
    return event.reason == "tool_blocked" or bool(_rules(event.details).get("secrets_absent"))


def _rules(details: Any) -> Any:
    return details.get("rules") or {}


def _about_its_call(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare how the execution stands; what was not told of is not compared."""
    execution, begun = proposal.execution, told.begun
    if execution is None or begun is None:
        if execution is not None:
            yield f"{execution.verb} is {execution.outcome}, and no entry tells that it began"
        elif begun is not None:
            yield f"its execution is gone, entry {begun.seq} began it"
        return
    yield from _differs("verb", execution.verb, told.verb)
    yield from _differs("attempt", execution.attempt, told.attempt)
    yield from _differs("outcome", execution.outcome, told.outcome)
    yield from _about_its_window(execution, told)
    yield from _differs("window's length in s", proposal.window_s, told.window_s)
    yield from _about_its_kind(execution, begun)
    if told.receipt is not UNTOLD and receipt_digest(execution.receipt) != told.receipt:
        yield "what its tool answered is not what the trail tells"
    by = begun.event.actor
    if execution.early != (by is not None and by.kind is ActorKind.AGENT):
        yield f"who may close its window early is another thing than entry {begun.seq} says"
    if proposal.opener != by and proposal.state is State.EXECUTING:
        yield f"it was opened by {proposal.opener}, entry {begun.seq} says {by}"


def _about_its_kind(execution: Execution, begun: AuditEntry) -> Iterator[str]:
    """Compare who carries it out, and whether a commit has to follow."""
    for name in ("by_agent", "deferred"):
        stored = getattr(execution, name)
        if begun.event.details.get(name, stored) != stored:
            yield f"its {name} is {stored}, entry {begun.seq} says another thing"


def _about_its_window(execution: Execution, told: Told) -> Iterator[str]:
    if told.window is not UNTOLD:
        closes_ms = execution.window_closes_at_ms
        yield from _differs("window's end", _at(closes_ms), _at(told.window))


def _about_who_decides(proposal: Proposal, told: Told) -> Iterator[str]:
    yield from _differs("tier", proposal.tier, told.tier)
    yield from _differs("quorum", proposal.quorum, told.quorum)
    yield from _differs("need of people", proposal.quorum_needs_people, told.needs_people)
    yield from _differs("attention", proposal.attention, told.attention)
    if proposal.tier is not Tier.BLOCK and fits_its_digest(proposal):
        asked = approval_class_of(proposal.read())
        least = max(TIER_POLICIES[proposal.tier].quorum, _ASKED_FOR.get(asked, 0) if asked else 0)
        if proposal.quorum < least:
            yield f"its quorum is {proposal.quorum}, its tier and document ask for {least}"


def _about_its_verdict(proposal: Proposal, told: Told) -> Iterator[str]:
    verdict, rules = proposal.verdict, told.rules
    if rules is UNTOLD:
        return
    if verdict is None or verdict_details(verdict)["rules"] != rules:
        yield "what Sentinel found is not what the trail tells"


def _about_its_stop(proposal: Proposal, told: Told) -> Iterator[str]:
    kept = proposal.kept_stop
    if kept is None and told.stops:
        yield f"the ❌ of {told.stops[0]} waits for its tool, and is not kept"
    if kept is not None and kept.person not in told.stops:
        yield f"a ❌ of {kept.person} is kept, and no entry tells of it"


def _differs(name: str, stored: object, told: object) -> Iterator[str]:
    if told is not UNTOLD and stored != told:
        yield f"its {name} is {stored}, the trail says {told}"


def _at(at_ms: int | None) -> str | None:
    return rfc3339(at_ms) if at_ms is not None else None
