"""Ends a proposal whose row somebody else changed in the database, and tells people of that."""

from __future__ import annotations

from typing import Final

from lifecycle.announcing import announce
from lifecycle.copied import UNKNOWN_SINCE, is_of_a_copy
from lifecycle.door import end
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Cause, Proposal
from lifecycle.state import Trigger
from lifecycle.tier import Puller, Tier

_TOLD: Final = "Its trail tells what was done before."


def digest_mismatch(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """End a proposal whose row was changed behind our back, and announce that."""
    before = UNKNOWN_SINCE if is_of_a_copy(tx, proposal) else _TOLD
    words = f"The stored row no longer fits what was approved, so nothing begins by it. {before}"
    tell_of_a_changed_row(tx, moment, proposal, words)
    # Whoever wrote that it is blocked leaves nobody but the tier to end what was not judged yet.
    puller = Puller.TIER if proposal.tier is Tier.BLOCK else Puller.SENTINEL
    cause = Cause(SENTINEL, puller, "digest_mismatch", words)
    return end(tx, moment, proposal, Trigger.REJECT, cause)


def tell_of_a_changed_row(tx: Transaction, moment: Moment, proposal: Proposal, words: str) -> None:
    """Announce that somebody else wrote into the database."""
    announce(
        tx,
        moment,
        f"digest_mismatch:{proposal.proposal_id}",
        f"{proposal.proposal_id}: {words} Somebody changed the database.",
        proposal.proposal_id,
    )
