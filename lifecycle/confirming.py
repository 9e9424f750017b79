"""Counts approvals again, before a proposal that had to wait begins, without those who left since.

A proposal may wait for hours after its quorum was counted: for `valid_from_ms`, an hour of its
rules, evidence, the end of a freeze, or the agent that holds its permit. An account that was banned
meanwhile, because somebody else had used it, must not let it begin (ADR 0011). `opening` calls
`still_approved` in the unit that begins it; the chats are asked outside (`people/membership`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lifecycle.counting import approvals
from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Proposal
from lifecycle.review import Absent, Decision, Review
from lifecycle.tier import Puller
from lifecycle.verdicts.effective_terms import revoke_permit
from lifecycle.verdicts.judge import opening_changes


@dataclass(frozen=True, slots=True)
class Membership:
    """The people who were `asked` for, and who is `lost`: a person, or only an account of theirs.

    Whether lost means surely left, or merely not confirmed, depends on how the chats were asked.
    """

    asked: frozenset[str] = frozenset()
    lost: Collection[Absent] = ()

    def covers(self, tx: Transaction, proposal_id: str) -> bool:
        """Return True if everyone whose approval of this proposal counts was asked for."""
        return self.asked >= approvers(proposal_id, tx)


def still_approved(
    tx: Transaction, moment: Moment, proposal: Proposal, there: Membership | None
) -> Proposal | None:
    """Return the proposal as it stands once the approvals of those who left since are taken out.

    None if the chats must be asked first: people opened it more than 30 s ago, and `there` is None
    or does not cover all of them. What no person opened is returned as it is.
    """
    if proposal.opener_puller is not Puller.PERSON:
        return proposal
    if lately(moment, _enough_since_ms(tx.reviews.of(proposal.proposal_id), proposal.quorum)):
        return proposal
    if there is None or not there.covers(tx, proposal.proposal_id):
        return None
    return _without_who_left(tx, moment, proposal, there.lost)


def _enough_since_ms(reviews: Sequence[Review], quorum: int) -> int:
    """Return when the approval was given that completed the quorum (ms UTC).

    The proposal was opened no earlier, and everyone was confirmed then. A further approval that
    comes later confirms nobody but its giver, so it does not make this time newer.
    """
    given_ms = [r.at_ms for r in reviews if r.counts and r.decision is Decision.APPROVE]
    return max(given_ms[: max(1, quorum)], default=0)


def lately(moment: Moment, at_ms: int) -> bool:
    """Return True if a time (ms UTC) is at most 30 s ago and not in the future.

    After the clock was set back, a time in the future says nothing about how fresh something is.
    """
    return at_ms <= moment.now_ms and not moment.is_long_since(at_ms)


def _without_who_left(
    tx: Transaction, moment: Moment, proposal: Proposal, lost: Collection[Absent]
) -> Proposal:
    """Count the approvals again without those of people and accounts that have left.

    Return the proposal unchanged if its opener still counts and the quorum is still reached. If
    only the opener is gone, another approver becomes its opener. If too few are left, it has no
    opener any more: people are asked again, and a permit that waits is taken back.
    """
    reviews = tx.reviews.of(proposal.proposal_id)
    counted = approvals(reviews, moment.policy, proposal, lost)
    enough = len(counted) >= proposal.quorum
    if enough and proposal.opener is not None and proposal.opener.id in counted:
        return proposal
    opened = opening_changes(tx, moment.policy, proposal, lost)
    if not opened:
        opened = {"opener": None, "opener_puller": None, "waiting_for": None}
        opened |= revoke_permit(tx, moment, proposal)
    return amend(
        tx,
        moment,
        proposal,
        EventKind.QUORUM_COUNTED,
        SENTINEL,
        details={"approvals": len(counted), "quorum": proposal.quorum},
        **opened,
    )


def approvers(proposal_id: str, tx: Transaction) -> frozenset[str]:
    """Return the people whose approval of a proposal counts by its rows alone."""
    reviews = tx.reviews.of(proposal_id)
    return frozenset(r.person for r in reviews if r.counts and r.decision is Decision.APPROVE)
