"""A deadline that passed has the same effect wherever it is noticed (design section 6)."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.copied import UNKNOWN_SINCE, is_of_a_copy
from lifecycle.door import call_for_attention, end
from lifecycle.heard import HEARD, OVERDUE_MS
from lifecycle.moment import Moment, clock_words
from lifecycle.ports import Transaction
from lifecycle.proposal import CLOCK, Attention, Cause, Proposal
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller


def expiry_of(proposal: Proposal) -> tuple[str, str]:
    """Return reason and words of the end that its deadline brings, for the sweep and every view."""
    when = clock_words(proposal.deadline_ms)
    if proposal.permit_waits:
        words = f"The permit was not redeemed by {when}; nothing was run. Submit a new proposal."
        return "permit_expired", words
    words = f"Expired at {when}; nothing was run. The proposer may submit again, under a new id."
    return "expired", words


def as_seen(proposal: Proposal, now_ms: int) -> Proposal:
    """Return the proposal as it counts now: past its deadline as expired, swept or not."""
    if not proposal.expired(now_ms):
        return proposal
    reason, words = expiry_of(proposal)
    return replace(
        proposal,
        state=State.REJECTED,
        reason=reason,
        explanation=words,
        decided_by=CLOCK,
        decided_at_ms=proposal.deadline_ms,
        opener=None,
        waiting_for=None,
        attention=None,
        attention_why="",
    )


def undecided(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return whether a stop waits, in the spool or heard before the deadline, that may decide (ADR
    0020).

    Until it is processed the deadline ends nothing, and nothing may begin either.
    """
    if proposal.proposal_id in moment.held:
        return True
    return moment.heard.undecided(tx, moment.now_ms, proposal)


def expire(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Reject a proposal whose deadline has passed, by the clock; it does not count as refused by a
    person.

    While a stop of it waits it stays as it is: that may be a refusal given in time.
    """
    if undecided(tx, moment, proposal):
        return proposal
    reason, words = expiry_of(proposal)
    if is_of_a_copy(tx, proposal):
        words = f"Expired at {clock_words(proposal.deadline_ms)}. {UNKNOWN_SINCE}"
    return end(tx, moment, proposal, Trigger.REJECT, Cause(CLOCK, Puller.CLOCK, reason, words))


def stuck(moment: Moment, proposal: Proposal, since_ms: int) -> bool:
    """Return whether people are to be called, because a stop that nobody could process for a minute
    keeps the deadline from ending the proposal.

    `since_ms` is when this process began to look at deadlines; it has a minute from then on as
    well. No list shows the proposal as waiting any more, so that nobody would come to it.
    """
    if proposal.attention is not None or moment.now_ms - since_ms < OVERDUE_MS:
        return False
    waited = moment.heard.overdue(moment.now_ms, proposal.proposal_id)
    return any(each.decides for each in waited)


def call_people(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Call people, once, to let go of the stop that keeps the deadline from ending the proposal."""
    when, proposal_id = clock_words(proposal.deadline_ms), proposal.proposal_id
    why = f"Its deadline was {when}, but it waits for {HEARD}; let go of that: retry {proposal_id}"
    return call_for_attention(tx, moment, proposal, Attention.OVERDUE, why, CLOCK)
