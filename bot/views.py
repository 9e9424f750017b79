"""Reads proposals as plain JSON values and as pages, for every surface and the command line alike.

Functions that take `tx` are views: pass them to `store.read`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.calls.mishaps import stands_shown
from lifecycle.calls.quoting import secrets_of
from lifecycle.ending import execution_json, verdict_json
from lifecycle.errors import AmbiguousId, ProposalNotFound
from lifecycle.expiry import as_seen
from lifecycle.moment import rfc3339
from lifecycle.permitting import r3_uri
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.text.masking import mask_secrets, mask_text
from lifecycle.text.quoted_secrets import mask_quoted

__all__ = [
    "as_seen",
    "count_pending",
    "exactly",
    "pending_json",
    "pending_page",
    "proposal_json",
    "resolve",
    "rfc3339",
]

PAGE: Final = 10
#: So many attempts without effect are shown of one proposal.
MOST_ATTEMPTS: Final = 100
#: The least number of characters of an abbreviated id.
SHORTEST_PREFIX: Final = 4
_CHUNK: Final = 200
_SHOWN_ID: Final = 64


@dataclass(frozen=True, slots=True)
class PendingPage:
    """One page of waiting proposals and, beside it, one of executing proposals.

    `total` and `executing_total` count all of them; `pages` is at least 1 and covers both lists.
    """

    number: int
    pages: int
    total: int
    waiting: tuple[Proposal, ...]
    executing: tuple[Proposal, ...]
    executing_total: int


def exactly(tx: Transaction, given: str) -> Proposal:
    """Return the proposal with this whole id; raises ProposalNotFound, or AmbiguousId if it is only
    the beginning of one."""
    found = tx.proposals.get(given)
    if found is not None:
        return found
    if given and (alike := tx.proposals.beginning_with(given, 2)):
        raise AmbiguousId(f"Here the whole id is needed. Did you mean {alike[0]}?")
    raise ProposalNotFound(_unknown(given))


def resolve(tx: Transaction, given: str) -> Proposal:
    """Return the proposal with this id or with this unique beginning of four characters or more.

    Raises ProposalNotFound or AmbiguousId with a sentence that says what to do.
    """
    found = tx.proposals.get(given)
    if found is not None:
        return found
    if len(given) < SHORTEST_PREFIX:
        raise ProposalNotFound(
            f"{_unknown(given)} Of a longer id, {SHORTEST_PREFIX} characters are enough."
        )
    alike = tx.proposals.beginning_with(given, 6)
    if not alike:
        raise ProposalNotFound(_unknown(given))
    if len(alike) > 1:
        more = " and others" if len(alike) > 5 else ""
        raise AmbiguousId(f"Several begin so: {', '.join(alike[:5])}{more}. Write more of the id.")
    return exactly(tx, alike[0])


def proposal_json(
    proposal: Proposal,
    reviews: Sequence[Review],
    now_ms: int,
    standing: Sequence[Any] = (),
    *,
    public_url: str = "",
) -> dict[str, Any]:
    """Return one proposal as `show --json` prints it; times are RFC 3339, secrets are masked."""
    seen = as_seen(proposal, now_ms)
    return {
        "proposal_id": seen.proposal_id,
        "state": seen.state.value,
        "tier": seen.tier.value,
        "tool_tier": seen.tool_tier.value,
        "tool": seen.tool,
        "actor": seen.actor.id,
        "actor_kind": seen.actor.kind.value,
        "digest": seen.digest,
        "reason": seen.reason,
        "explanation": mask_text(seen.explanation),
        "decided_by": seen.decided_by.as_json() if seen.decided_by else None,
        "decided_at": _time(seen.decided_at_ms),
        "version": seen.version,
        "reviews": [review_json(review) for review in reviews],
        "quorum": seen.quorum,
        "execution": _execution(seen, standing),
        "attention": seen.attention.value if seen.attention else None,
        "attention_why": mask_text(seen.attention_why),
        "waiting_for": seen.waiting_for,
        "created_at": rfc3339(seen.created_at_ms),
        "deadline": rfc3339(seen.deadline_ms),
        "task_id": seen.task_id,
        "surface": seen.surface,
        "policy_digest": seen.policy_digest,
        "r3_s256": seen.r3_s256,
        "r3_uri": r3_uri(public_url, seen),
        "verdict": mask_secrets(verdict_json(seen.verdict)),
        **({"witness": seen.extra["witness"]} if "witness" in seen.extra else {}),
    }


def review_json(review: Review) -> dict[str, Any]:
    """Return one review; `void` names why it no longer counts and is absent while it does."""
    item: dict[str, Any] = {
        "person": review.person,
        "decision": review.decision.value,
        "reason": mask_text(review.reason),
        "at": rfc3339(review.at_ms),
        "surface": review.surface,
    }
    if review.found_late:
        item["found_late"] = True
    if review.void_why is not None:
        item["void"] = review.void_why
    return item


def show(tx: Transaction, given: str, now_ms: int, *, public_url: str = "") -> dict[str, Any]:
    """Return the proposal that `given` means as JSON; raises as `resolve` does."""
    proposal = resolve(tx, given)
    reviews = tx.reviews.of(proposal.proposal_id)
    stands = stands_shown(tx, proposal)
    return proposal_json(proposal, reviews, now_ms, stands, public_url=public_url)


def trail(tx: Transaction, given: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the audit trail of one proposal, oldest first, and whether attempts were left out.

    Of mere attempts only the newest are among it: anybody may have made hundreds of thousands, and
    anybody may ask. Raises as `resolve` does.
    """
    proposal_id = resolve(tx, given).proposal_id
    attempts = tx.audit.newest_attempts(proposal_id, MOST_ATTEMPTS + 1)
    more = len(attempts) > MOST_ATTEMPTS
    found = (*tx.audit.without_attempts(proposal_id), *attempts[more:])
    return [entry.as_json() for entry in sorted(found, key=lambda each: each.seq)], more


def pending_json(tx: Transaction, now_ms: int, *, public_url: str = "") -> dict[str, Any]:
    """Return `{"proposals": […]}`: what needs attention, then the others; of both the waiting ones
    first, then those that execute."""
    found = [*_all_waiting(tx, now_ms), *_all_executing(tx)]
    return {
        "proposals": [
            listed_json(tx, each, now_ms, public_url=public_url)
            for each in sorted(found, key=lambda each: each.attention is None)
        ]
    }


def listed_json(
    tx: Transaction, proposal: Proposal, now_ms: int, *, public_url: str
) -> dict[str, Any]:
    """Return one proposal of a list. If its reviews cannot be read it has none, and `unreadable`
    says why: no list is withheld for a row beside it."""
    try:
        reviews, why = tx.reviews.of(proposal.proposal_id), None
    except RowUnreadable as error:
        reviews, why = (), mask_text(str(error))
    stands = stands_shown(tx, proposal)
    content = proposal_json(proposal, reviews, now_ms, stands, public_url=public_url)
    return content if why is None else content | {"unreadable": why}


def pending_page(tx: Transaction, now_ms: int, number: int = 1) -> PendingPage:
    """Return ten waiting and ten executing proposals; a number beyond the last page gives the last.

    Executing proposals have pages too, because a person who wants to take something back must find
    it.
    """
    lapsed = _lapsed(tx, now_ms)
    total = max(0, tx.proposals.count_waiting() - lapsed)
    executing_total = tx.proposals.count_executing()
    pages = max(1, -(-max(total, executing_total) // PAGE))
    number = min(max(1, number), pages)
    seen = [
        each for each in tx.proposals.waiting(0, number * PAGE + lapsed) if not each.expired(now_ms)
    ]
    return PendingPage(
        number=number,
        pages=pages,
        total=total,
        waiting=tuple(seen[(number - 1) * PAGE : number * PAGE]),
        executing=tuple(tx.proposals.executing((number - 1) * PAGE, PAGE)),
        executing_total=executing_total,
    )


def count_pending(tx: Transaction, now_ms: int) -> int:
    """Count the proposals that wait for a decision, without those past their deadline, even if the
    job `expire` has not ended them yet."""
    return max(0, tx.proposals.count_waiting() - _lapsed(tx, now_ms))


def _lapsed(tx: Transaction, now_ms: int) -> int:
    return len(tx.proposals.due_to_expire(now_ms, _CHUNK * 10))


def _all_waiting(tx: Transaction, now_ms: int) -> Iterator[Proposal]:
    for offset in range(0, tx.proposals.count_waiting(), _CHUNK):
        for each in tx.proposals.waiting(offset, _CHUNK):
            if not each.expired(now_ms):
                yield each


def _all_executing(tx: Transaction) -> Iterator[Proposal]:
    for offset in range(0, tx.proposals.count_executing(), _CHUNK):
        yield from tx.proposals.executing(offset, _CHUNK)


def _execution(seen: Proposal, standing: Sequence[Any]) -> dict[str, Any] | None:
    """Return `execution` with what is `standing`, as `stands_shown` tells it."""
    shown = execution_json(seen)
    if shown is not None and seen.execution is not None:
        shown["receipt"] = mask_secrets(seen.frame) if seen.frame is not None else None
        stands = mask_quoted(list(standing), secrets_of(seen))
        shown["still_stands"] = mask_secrets(stands)
    return shown


def _time(at_ms: int | None) -> str | None:
    return rfc3339(at_ms) if at_ms is not None else None


def _unknown(given: str) -> str:
    return (
        f"No proposal has the id {mask_text(given[:_SHOWN_ID])!r}: `pending` lists those that wait."
    )
