"""Close the window of an auto-approved proposal before its time, for a person's ✅ (section 6).

`reviewing.approve` calls this for a ✅ on a proposal that is already executing.
"""

from __future__ import annotations

from lifecycle.calls.finishing import finish
from lifecycle.door import record
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.freezing import stands_still
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed, decided, review_details, review_of, shown_version
from lifecycle.people.overtaken import called_since
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Cause, Identity, Outcome, Proposal, Verb
from lifecycle.review import Decision
from lifecycle.text.masking import harmless
from lifecycle.tier import Puller
from lifecycle.verdicts.last_judged import judged_as_it_stands


def may_end_early(proposal: Proposal) -> bool:
    """Return whether it was opened by auto-approval, so that a ✅ may close its window: PROPOSE
    alone is opened so, and always has one."""
    return proposal.execution is not None and proposal.execution.early


def complete_early(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> Reviewed:
    """Close the window of what auto-approval opened, now.

    Raises ReviewRefused while the tool runs, while something holds the proposal up, and if the
    sender's card cannot show yet that the tool has run: a ✅ on a card that waits for approval
    means the approval and the whole window after it.
    """
    execution = begun(proposal)
    if act.found_late:
        return decided(tx, moment, act, proposal)
    if execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("still_running", "The tool has not answered yet; try again then.")
    if execution.verb is not Verb.EXECUTE or execution.outcome is not Outcome.DONE:
        return decided(tx, moment, act, proposal)  # it must be settled or retried
    _seen_as_it_stands(tx, moment, proposal, act)
    if not judged_as_it_stands(tx, moment, proposal):
        words = "Policy or evidence has just changed and it is being checked again; try again then."
        raise ReviewRefused("still_running", words)
    still = stands_still(tx, moment, proposal, early=True)
    if still is not None:
        raise ReviewRefused("frozen", f"It stands still and waits for: {still}. Try again then.")
    return _closed(tx, moment, proposal, act)


def _seen_as_it_stands(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> None:
    on_its_card = shown_version(tx, act)
    here = [c for c in tx.cards.of(proposal.proposal_id) if c.surface == act.sender.surface]
    seen = [c.shown_version for c in here] if on_its_card is None else [on_its_card]
    typed_before = on_its_card is None and called_since(tx, moment, proposal, act.sender)
    if typed_before or (seen and max(seen) < proposal.version):
        raise ReviewRefused(
            "stale_card",
            "The tool ran meanwhile, and your card does not show it yet: a ✅ would end the "
            "rollback window at once. Look at the card again; react anew if you mean that.",
        )


def _closed(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> Reviewed:
    person = act.sender.id or ""
    by = Identity(ActorKind.PERSON, person)
    tx.reviews.add(review_of(proposal, moment, act, person, Decision.APPROVE))
    details = review_details(act, Decision.APPROVE)
    record(
        tx, moment, EventKind.REVIEWED, by, proposal=proposal, sender=act.sender, details=details
    )
    words = f"{person} approved before the window closed."
    concluded = finish(tx, moment, proposal, Cause(by, Puller.PERSON, "approved_early", words))
    words = _why_not_closed(concluded.proposal)
    words = words or f"Approved by {person}: the window is closed early."
    return Reviewed.of(concluded.proposal, words, claim=concluded.claim)


def _why_not_closed(proposal: Proposal) -> str:
    """Return words if it did not end because its row was found to be changed; else empty."""
    execution, why = proposal.execution, proposal.attention_why
    if execution is not None and execution.verb is Verb.ROLL_BACK and execution.cause is not None:
        why = execution.cause.words
    ends = proposal.terminal or not why
    return "" if ends else f"{proposal.proposal_id} is not closed. {harmless(why)}"
