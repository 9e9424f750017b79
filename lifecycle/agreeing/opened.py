"""Whether a row that is to begin is such as the law leaves one: nobody opened it by hand."""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.books import Transaction
from lifecycle.counting import approvals
from lifecycle.judging import may_orchestrate
from lifecycle.moment import Moment
from lifecycle.proposal import SENTINEL, ActorKind, Proposal
from lifecycle.restanding import stands_as_judged
from lifecycle.review import Decision, Review
from lifecycle.tier import Puller, Tier


def stands_as_opened(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Say whether row and reviews are such as the law leaves them where it lets something begin.

    Looks at nothing but what is at hand: whether the trail tells of it is verified elsewhere. For
    a row that was judged under the policy in force.
    """
    if proposal.execution is not None or proposal.decided_at_ms is not None:
        return False  # it has begun, or ended, before
    if not stands_as_judged(moment.policy, proposal) or _begins_too_early(proposal):
        return False
    reviews = tx.reviews.of(proposal.proposal_id)
    if any(review.decision is not Decision.APPROVE for review in reviews):
        return False  # somebody stopped it, which nothing undoes
    return _opened_rightly(moment, proposal, reviews)


def _opened_rightly(moment: Moment, proposal: Proposal, reviews: Sequence[Review]) -> bool:
    """Say whether whoever opened it may, and where that is a person, together with enough."""
    opener, tier = proposal.opener, proposal.tier
    if opener is None or (_softly(proposal) and tier is not Tier.CONFIRM):
        return False
    match proposal.opener_puller:
        case Puller.SENTINEL:
            return opener == SENTINEL and tier in (Tier.AUTO, Tier.AUTO_PLUS)
        case Puller.ORCHESTRATOR:
            named = opener.kind is ActorKind.AGENT and opener.id == moment.policy.orchestrator
            allowed = may_orchestrate(moment.policy, proposal) and not proposal.quorum_needs_people
            return named and allowed
        case Puller.PERSON:
            approved = opener.id in {review.person for review in reviews}
            counted = approvals(reviews, moment.policy, proposal)
            return approved and len(counted) >= max(1, proposal.quorum)
        case _:
            return False


def _softly(proposal: Proposal) -> bool:
    return proposal.verdict is not None and proposal.verdict.needs_reason


def _begins_too_early(proposal: Proposal) -> bool:
    """Say whether the row lets it begin at another time than its document."""
    window = proposal.read().time_window
    return proposal.valid_from_ms != (window.valid_from_ms if window else None)
