"""Compare the stored reviews with the trail, and say whether they sufficed to open the proposal.

`rows.disagreements` calls `about_reviews` (ADR 0013).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from lifecycle.agreeing.told import person_of
from lifecycle.audit import AuditEntry
from lifecycle.event_kinds import EventKind
from lifecycle.moment import rfc3339
from lifecycle.proposal import ActorKind, Identity, Proposal
from lifecycle.review import Decision, Review
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller, pullers

_PULLERS: Final = {
    ActorKind.PERSON: Puller.PERSON,
    ActorKind.AGENT: Puller.ORCHESTRATOR,
    ActorKind.SENTINEL: Puller.SENTINEL,
}


@dataclass(slots=True)
class _Given:
    """A review as an entry tells it.

    `words` are the reasons that its row may have, None if the entry tells none. `void_why` says why
    an approval does not count any more, None while it counts.
    """

    entry: AuditEntry
    decision: Decision
    words: Collection[str] | None
    void_why: str | None = None

    @property
    def person(self) -> str:
        return person_of(self.entry)


@dataclass(slots=True)
class _Counted:
    """All reviews that were given up to an entry, void ones among them."""

    given: list[_Given] = field(default_factory=list)

    def take(self, entry: AuditEntry) -> None:
        event = entry.event
        match event.kind:
            case EventKind.REVIEWED:
                self._add(entry, Decision.APPROVE, _why(entry))
            case Trigger.REJECT if event.reason == "rejected_by_person":
                self._add(entry, Decision.REJECT, _words_of_end(entry))
            case EventKind.STOPPED | EventKind.STOP_KEPT:
                self._add(entry, Decision.ROLL_BACK, _why(entry))
            case EventKind.REASON_GIVEN:
                self._explain(entry)
            case EventKind.APPROVAL_TAKEN_BACK:
                self._void("the trail says that it was taken back", person_of(entry))
            case EventKind.RAISED:
                self._void(f"it is void since entry {entry.seq}")
            case EventKind.RECHECKED | EventKind.RESTORED | Trigger.SENTINEL_APPROVE if (
                "approvals_void" in event.details
            ):
                self._void(f"it is void since entry {entry.seq}")

    def _add(self, entry: AuditEntry, decision: Decision, words: Collection[str] | None) -> None:
        self.given.append(_Given(entry, decision, words))

    def _void(self, why: str, person: str | None = None) -> None:
        for one in self.counting():
            if person in (None, one.person):
                one.void_why = why

    def _explain(self, entry: AuditEntry) -> None:
        person = person_of(entry)
        for one in reversed(self.given):
            if one.person == person and one.decision is not Decision.APPROVE:
                one.words = _why(entry)
                return

    def counting(self) -> list[_Given]:
        """Return the approvals that count so far."""
        return [g for g in self.given if g.decision is Decision.APPROVE and g.void_why is None]

    def people(self) -> set[str]:
        """Return the people whose approval counts so far."""
        return {one.person for one in self.counting()}

    def short_of(self, quorum: int, by: Identity) -> str | None:
        """Return what is missing so that `by`, a person, may open it; None if nothing is.

        Needed are as many counting approvals as `quorum`, at least one, and one that `by` gave.
        """
        if len(self.people()) < max(1, quorum):
            return f"{len(self.people())} of {max(1, quorum)} approvals"
        approved = {g.person for g in self.given if g.decision is Decision.APPROVE}
        return None if by.id in approved else f"no approval by {by.id}"


def about_reviews(
    proposal: Proposal, trail: Sequence[AuditEntry], reviews: Sequence[Review]
) -> Iterator[str]:
    """Yield a sentence for each review not as told, and each opening reviews do not support."""
    counted = _Counted()
    for entry in trail:
        counted.take(entry)
        if entry.event.kind == Trigger.EXECUTE and entry.event.actor is not None:
            yield from _opened(proposal, counted, entry.event.actor, f"entry {entry.seq}")
        if entry.event.reason == "approved_early" and person_of(entry) not in counted.people():
            yield f"entry {entry.seq} ends its window for {person_of(entry)}, who did not approve"
    if proposal.state is State.SENTINEL_APPROVED and proposal.opener is not None:
        yield from _opened(proposal, counted, proposal.opener, "its row")
        if _PULLERS.get(proposal.opener.kind) is not proposal.opener_puller:
            yield f"{proposal.opener} opens it as {proposal.opener_puller}"
    yield from _compared(counted.given, reviews)


def _opened(proposal: Proposal, counted: _Counted, by: Identity, where: str) -> Iterator[str]:
    puller = _PULLERS.get(by.kind)
    may = pullers(proposal.tier, State.SENTINEL_APPROVED, Trigger.EXECUTE)
    people = puller is Puller.PERSON
    if puller not in may or (proposal.quorum_needs_people and not people):
        yield f"{where} lets {by} open it, which {proposal.tier} does not"
    elif people:
        missing = counted.short_of(proposal.quorum, by)
        if missing is not None:
            yield f"{where} lets {by} open it with {missing}"


def _compared(given: Sequence[_Given], reviews: Sequence[Review]) -> Iterator[str]:
    told = {key: list(group) for key, group in groupby(sorted(given, key=_key), _key)}
    kept = {key: list(group) for key, group in groupby(sorted(reviews, key=_key), _key)}
    for key in sorted(told.keys() | kept.keys()):
        ours, theirs = kept.get(key, []), told.get(key, [])
        if len(ours) != len(theirs):
            yield _counts(key, len(ours), len(theirs))
            continue
        for review, one in zip(ours, theirs, strict=True):
            yield from _one(review, one)


def _key(review: Review | _Given) -> tuple[str, str]:
    return review.person, review.decision.value


def _counts(key: tuple[str, str], kept: int, told: int) -> str:
    person, decision = key
    if decision == Decision.APPROVE:
        return f"{kept} approvals by {person} are kept, the trail tells of {told}"
    if kept > told:
        return f"no entry tells of the {decision} by {person}"
    return f"the trail tells of the {decision} by {person}, which is not kept"


def _one(review: Review, told: _Given) -> Iterator[str]:
    event, name = told.entry.event, f"the {review.decision} by {review.person}"
    if review.counts and told.void_why is not None:
        yield f"the approval by {review.person} counts, although {told.void_why}"
    if not review.counts and told.void_why is None:
        yield f"{name} does not count, and no entry says why"
    place = (rfc3339(review.at_ms), review.surface, review.event_id)
    if place != (event.details.get("given_at", event.at), event.surface, event.event_id):
        yield f"{name} is kept with another time, place or event than entry {told.entry.seq} tells"
    if review.found_late != event.details.get("found_late", review.found_late):
        yield f"{name} was found in another way than entry {told.entry.seq} tells"
    if told.words is not None and review.reason not in told.words:
        yield f"the reason of {name} is not the one that the trail tells"


def _why(entry: AuditEntry) -> Collection[str] | None:
    why = entry.event.details.get("why")
    return None if why is None else (why,)


def _words_of_end(entry: AuditEntry) -> Collection[str] | None:
    """Return the reasons that the end allows; for a bare ❌ the entry has words of its own."""
    words = entry.event.details.get("explanation")
    if words is None:
        return None
    return (words, "") if words == f"Rejected by {person_of(entry)}." else (words,)
