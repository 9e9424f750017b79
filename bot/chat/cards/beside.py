"""Gathers what a card shows besides the proposal itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lifecycle.agreeing.rows import begun_with
from lifecycle.policy import Policy, ToolPolicy
from lifecycle.ports import RowUnreadable, Toolbox, Transaction
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.state import State
from lifecycle.verdicts.fingerprints import call_print_of


@dataclass(frozen=True, slots=True)
class Beside:
    """What a card shows besides the proposal.

    `defaults` are what the tool adds by config. `call` is the fingerprint of the call that has
    begun, None if none has, or none is told.
    """

    policy: Policy
    now_ms: int
    reviews: Sequence[Review] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    call: str | None = None

    def calls_otherwise(self, tool: ToolPolicy) -> bool:
        """Return True if the config calls `tool` otherwise than when this proposal began.

        Then nothing is committed, or taken back once done, without a person (ADR 0026).
        """
        return self.call is not None and self.call != call_print_of(tool)


def defaults_of(toolbox: Toolbox, tool: str) -> Mapping[str, Any]:
    """Return the values that a tool adds by its config; none if it has left the config."""
    try:
        return toolbox.describe(tool)
    except KeyError:
        return {}


def noted(tx: Transaction, proposal_id: str) -> tuple[Proposal, list[Review], str | None] | None:
    """Return the proposal with its reviews and the call that has begun; None if there is none."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        return None
    return proposal, list(tx.reviews.of(proposal_id)), call_begun(tx, proposal)


def call_begun(tx: Transaction, proposal: Proposal) -> str | None:
    """Return the fingerprint of the call that may still be committed or taken back, as the trail
    tells; None if there is none, or the trail cannot be read."""
    if proposal.state is not State.EXECUTING or proposal.execution is None:
        return None
    try:
        return begun_with(tx, proposal)
    except (RowUnreadable, ValueError, TypeError, KeyError):
        return None
