"""A person lets go of a stop that was heard and that nobody can work: what it held goes on."""

from __future__ import annotations

from lifecycle.calls.finishing import Concluded
from lifecycle.door import record
from lifecycle.errors import ReviewRefused
from lifecycle.heard import forget
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed, first_heard, looked_up
from lifecycle.people.settling import reviewed, reviewer
from lifecycle.ports import Transaction
from lifecycle.text.masking import plain_words


def let_go(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Hold nothing up any more for the stops that have waited too long.

    Should one of them be worked after all, it counts as it would then. Raises ReviewRefused
    nothing_to_settle, not_a_reviewer.
    """
    first_heard(tx, moment, act.sender)
    proposal = looked_up(tx, act)
    by = reviewer(moment, proposal, act)
    said_ms = act.sender.said_ms(moment.now_ms)
    keys = [each.key for each in moment.heard.overdue(said_ms, act.proposal_id)]
    if not keys:
        raise ReviewRefused("nothing_to_settle", "No stop of it waits any more.")
    details = {"stops": [*map(plain_words, keys)]}  # anything may have been written there
    record(tx, moment, "stop_let_go", by, proposal=proposal, sender=act.sender, details=details)
    forget(tx, keys)
    return reviewed(Concluded(proposal), "It goes on over the stop that nobody could carry out.")
