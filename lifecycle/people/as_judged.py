"""Refuse a ✅ on what is not, or did not look, as it is judged now. `reviewing.py` asks this."""

from __future__ import annotations

from lifecycle.errors import ReviewRefused
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, shown_version
from lifecycle.people.overtaken import judged_anew_since
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.state import State
from lifecycle.verdicts.last_judged import judged_under


def judged_by_now(moment: Moment, proposal: Proposal) -> None:
    """Refuse a ✅ while the policy in force has not judged again what waits.

    That policy says who may open it, and `show` how it is called. If the former one came back
    before it had judged, its row would be opened by somebody who may not by that, or for a call
    that its approver did not see.
    """
    if proposal.state is State.SENTINEL_APPROVED and not judged_under(moment.policy, proposal):
        raise ReviewRefused(
            "still_running",
            "The policy has just changed and it is being checked again; nothing was counted. A ✅ "
            "on the card is looked at again in a few minutes; else look at it, and type again: "
            f"approve {proposal.proposal_id}",
            passing=True,
        )


def seen_as_judged(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> None:
    """Refuse a ✅ given before its giver could see what is decided on now.

    That is a ✅ from a card that may have shown an older judgement, or a command that was on its
    way when it was judged anew.
    """
    shown = shown_version(tx, act)
    seen = act.seen_version
    asked_before = shown is None and seen is not None and seen < proposal.anew_version
    if asked_before or judged_anew_since(tx, moment, proposal, act):
        raise ReviewRefused(
            "stale_card",
            "It was judged anew while your approval was on its way; nothing was counted. Look at "
            f"it, then type again: approve {proposal.proposal_id}",
        )
    if shown is not None and shown < proposal.anew_version:
        raise ReviewRefused(
            "stale_card",
            "It was judged anew, and your card may not have shown that when you approved; nothing "
            "was counted. Look at the card again once it is up to date, then take the ✅ off and "
            f"put it there again, press Approve again, or type: approve {proposal.proposal_id}",
        )
