"""Reads what is known to be there; if it is not, that is a fault of ours, and raises."""

from __future__ import annotations

from lifecycle.ports import Transaction
from lifecycle.proposal import Execution, Proposal


def existing(tx: Transaction, proposal_id: str) -> Proposal:
    """Return the proposal with this id, as it stands in this unit; KeyError if there is none."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        raise KeyError(proposal_id)
    return proposal


def begun(proposal: Proposal) -> Execution:
    """Return the execution of a proposal; ValueError if it has not begun."""
    if proposal.execution is None:
        raise ValueError(f"{proposal.proposal_id} has not begun")
    return proposal.execution
