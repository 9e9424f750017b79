"""Whether rows say what the trail tells: what is stored can be verified, not the chain alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from lifecycle.audit import AuditEntry
from lifecycle.fitting import fits_its_digest
from lifecycle.proposal import Proposal
from lifecycle.review import Decision, Review

_SUBMITTED: Final = "submitted"
_REVIEWED: Final = "reviewed"
_TAKEN_BACK: Final = "approval_taken_back"


def disagreements(
    proposal: Proposal, trail: Sequence[AuditEntry], reviews: Sequence[Review]
) -> list[str]:
    """Return a sentence for everything in which a row and its reviews differ from their trail.

    Empty where they agree. The trail itself is verified elsewhere (`audit.broken_links`).
    """
    found = [*_about_the_row(proposal, trail), *_about_reviews(trail, reviews)]
    return [f"proposal {proposal.proposal_id}: {words}" for words in found]


def _about_the_row(proposal: Proposal, trail: Sequence[AuditEntry]) -> Iterator[str]:
    if not trail:
        yield "no entry tells of it"
        return
    last = next((entry for entry in reversed(trail) if entry.event.target), trail[0])
    if last.event.target != proposal.state:
        yield f"its state is {proposal.state}, entry {last.seq} says {last.event.target}"
    elif proposal.terminal and last.event.reason != proposal.reason:
        yield f"its reason is {proposal.reason}, entry {last.seq} says {last.event.reason}"
    other = next((entry for entry in trail if entry.event.digest != proposal.digest), None)
    if other is not None:
        yield f"its digest is not the one of entry {other.seq}"
    if not proposal.masked and not fits_its_digest(proposal):
        yield "what is stored does not fit its digest"


def _about_reviews(trail: Sequence[AuditEntry], reviews: Sequence[Review]) -> Iterator[str]:
    """An approval without an entry is forged, an entry without its approval is a lost one."""
    told = Counter(_person(e) for e in trail if e.event.kind == _REVIEWED)
    kept = Counter(r.person for r in reviews if r.decision is Decision.APPROVE)
    for person in sorted(told.keys() | kept.keys()):
        if told[person] != kept[person]:
            yield (
                f"{kept[person]} approvals by {person} are kept, the trail tells of {told[person]}"
            )
    acted = {_person(entry) for entry in trail}
    for review in reviews:
        if review.decision is not Decision.APPROVE and review.person not in acted:
            yield f"no entry tells of the {review.decision} by {review.person}"
    for person in sorted(_taken_back(trail) & {r.person for r in reviews if _approves(r)}):
        yield f"the approval by {person} counts, although the trail says that it was taken back"


def _approves(review: Review) -> bool:
    return review.counts and review.decision is Decision.APPROVE


def _taken_back(trail: Sequence[AuditEntry]) -> set[str]:
    """Return the people whose last word about their approval was to take it back."""
    last = {_person(e): e.event.kind for e in trail if e.event.kind in (_REVIEWED, _TAKEN_BACK)}
    return {person for person, kind in last.items() if kind == _TAKEN_BACK}


def _person(entry: AuditEntry) -> str:
    return entry.event.actor.id if entry.event.actor else ""


def begins(kind: object) -> bool:
    """Say whether an entry of this kind is the first of a proposal, which then must have a row."""
    return kind == _SUBMITTED
