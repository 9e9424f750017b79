"""Compare what a proposal counts towards its proposer's limits with the trail (ADR 0013)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from lifecycle.audit import AuditEntry
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.state import State


def spending_disagreements(
    tx: Transaction, proposal: Proposal, trail: Sequence[AuditEntry]
) -> list[str]:
    """Return a sentence for each currency in which it counts for another amount than its first
    entry tells.

    Empty if all agree, and for a proposal that ended without being completed, which spends nothing.
    Entries of older versions do not tell what a proposal spends; they are not compared.
    """
    told = trail[0].event.details.get("spends", {}) if trail else {}
    if not told or (proposal.terminal and proposal.state is not State.COMPLETED):
        return []
    ended_at_ms = proposal.decided_at_ms if proposal.terminal else None
    held = tx.spending.held(proposal.actor.id, proposal.proposal_id, ended_at_ms)
    return [
        f"proposal {proposal.proposal_id}: {words}"
        for words in _differences(held, {each: Decimal(amount) for each, amount in told.items()})
    ]


def _differences(held: Mapping[str, Decimal], told: Mapping[str, Decimal]) -> Iterator[str]:
    for currency in sorted(held.keys() | told.keys()):
        counts, tells = held.get(currency, Decimal(0)), told.get(currency, Decimal(0))
        if counts != tells:
            yield f"it counts for {counts} {currency}, the trail says {tells}"
