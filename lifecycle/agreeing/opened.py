"""Say whether a row that is about to begin is one that the law can have left.

A row whose opener, state or reviews were set by hand usually breaks the rules by which a proposal
is opened. This check needs no trail; `rows.may_begin_as_told` compares with the trail as well. Both
are asked before an execution begins and before an agent is given a permit.
"""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.counting import approvals
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, ActorKind, Proposal
from lifecycle.review import Decision, Review
from lifecycle.tier import Puller, Tier
from lifecycle.verdicts.effective_terms import stands_as_judged
from lifecycle.verdicts.judge import orchestrator_may_open


def stands_as_opened(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return True if the row and its reviews are as the law leaves them when it opens a proposal.

    It reads the row and the reviews only, not the trail. It expects a row that was judged under the
    policy in force.
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
    """Return True if the opener may open it and, for a person, enough people have approved."""
    opener, tier = proposal.opener, proposal.tier
    if opener is None or (_softly(proposal) and tier is not Tier.CONFIRM):
        return False
    match proposal.opener_puller:
        case Puller.SENTINEL:
            return opener == SENTINEL and tier in (Tier.AUTO, Tier.AUTO_PLUS)
        case Puller.ORCHESTRATOR:
            named = opener.kind is ActorKind.AGENT and opener.id == moment.policy.orchestrator
            return named and orchestrator_may_open(moment.policy, proposal)
        case Puller.PERSON:
            approved = opener.id in {review.person for review in reviews}
            counted = approvals(reviews, moment.policy, proposal)
            return approved and len(counted) >= max(1, proposal.quorum)
        case _:
            return False


def _softly(proposal: Proposal) -> bool:
    return proposal.verdict is not None and proposal.verdict.needs_reason


def _begins_too_early(proposal: Proposal) -> bool:
    """Return True if the row has another earliest beginning than its document."""
    window = proposal.read().time_window
    return proposal.valid_from_ms != (window.valid_from_ms if window else None)
