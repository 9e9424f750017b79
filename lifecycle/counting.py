"""Counts whose approvals hold now, under this policy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lifecycle.policy import Policy
from lifecycle.proposal import Proposal
from lifecycle.quorum import may_approve
from lifecycle.review import Absent, Decision, Review


def approvals(
    reviews: Sequence[Review],
    policy: Policy,
    proposal: Proposal,
    lost: Collection[Absent] = (),
) -> list[str]:
    """Return the people whose approval counts, each once, in the order in which they approved.

    `lost` are people, and accounts of theirs, whose membership cannot be confirmed when the quorum
    is counted: an approval counts only by the account that gave it.
    """
    tool = policy.tools.get(proposal.tool)
    if tool is None:
        return []
    needs_reason = proposal.verdict is not None and proposal.verdict.needs_reason
    people = dict.fromkeys(
        review.person
        for review in reviews
        if review.counts
        and review.decision is Decision.APPROVE
        and not is_lost(lost, review.person, review.surface)
        and (review.reason.strip() or not needs_reason)
    )
    return [p for p in people if may_approve(policy, tool, proposal.actor, p) is None]


def is_lost(lost: Collection[Absent], person: str | None, surface: str) -> bool:
    """Return whether an approval of this person, given on this surface, counts for nobody: they are
    a member nowhere, or the account there is not, which others may use by now."""
    return person in lost or (person, surface) in lost
