"""Reads a proposal that is known to be in the store, as it stands in this unit."""

from __future__ import annotations

from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal


def existing(tx: Transaction, proposal_id: str) -> Proposal:
    """Return the proposal with this id; KeyError if there is none, which is a fault of ours."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        raise KeyError(proposal_id)
    return proposal
