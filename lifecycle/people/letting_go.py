"""Let a person release a proposal from a stop that was heard and that nobody can process.

The proposal then goes on. It is what `retry` does for a proposal that such a stop holds.
"""

from __future__ import annotations

from dataclasses import replace

from lifecycle.answers import Reply
from lifecycle.calls.finishing import Concluded
from lifecycle.door import record
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.heard import HEARD, HeardStops, forget
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed, looked_up, refuse_repeated
from lifecycle.people.settling import reviewed, reviewer
from lifecycle.ports import Transaction
from lifecycle.text.masking import plain_words


def release_stops(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Forget the stops of this proposal that have waited too long, so that they hold it up no more.

    If one of them is processed after all, it has the effect it would have then. Raises
    ReviewRefused duplicate_event, stale_card, nothing_to_settle or not_a_reviewer;
    ProposalNotFound.
    """
    refuse_repeated(tx, moment, act.sender)
    proposal = looked_up(tx, act)
    by = reviewer(moment, proposal, act)
    said_ms = act.sender.said_ms(moment.now_ms)
    keys = [each.key for each in moment.heard.overdue(said_ms, act.proposal_id)]
    if not keys:
        raise ReviewRefused("nothing_to_settle", "No stop of it waits any more.")
    details = {"stops": [*map(plain_words, keys)]}  # anything may have been written there
    record(
        tx, moment, EventKind.STOP_LET_GO, by, proposal=proposal, sender=act.sender, details=details
    )
    forget(tx, keys)
    return reviewed(Concluded(proposal), "It goes on over the stop that nobody could carry out.")


def told_after(reply: Reply, proposal_id: str, heard: HeardStops) -> Reply:
    """Return the answer as it is true once those stops are dropped: unless another one holds the
    proposal, it no longer waits for a stop. It was looked at while they still held it."""
    if heard.of(proposal_id):
        return reply
    return replace(reply, words=reply.words.removesuffix(f" It waits for: {HEARD}."))
