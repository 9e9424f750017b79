"""Gathers what Sentinel is told beside the proposal, and compares it again before anything acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lifecycle.moment import Moment
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import EvidencePacket
from lifecycle.sentinel import Facts

_DAY_MS = 86_400_000


def gather(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy,
    real_path: Callable[[str], str],
    *,
    executing: bool,
    started_in: str,
) -> Facts:
    """Return the facts for one check of `proposal` under `tool`."""
    return Facts(
        now_ms=moment.now_ms,
        tool=tool,
        tier=proposal.tier,
        proposer=proposal.actor.id,
        spent=tx.spending.spent(proposal.actor.id, moment.now_ms - _DAY_MS, proposal.proposal_id),
        evidence=evidence_named(tx, proposal),
        real_path=real_path,
        executing=executing,
        started_in=started_in,
    )


def evidence_named(tx: Transaction, proposal: Proposal) -> dict[str, EvidencePacket]:
    """Return the recorded packets that the proposal names, by id."""
    packets = {ref: tx.evidence.get(ref) for ref in evidence_ids(proposal)}
    return {ref: packet for ref, packet in packets.items() if packet is not None}


def as_recorded(facts: Facts) -> Facts:
    """Return the facts with each packet as old as it was when it was recorded.

    What objected then does not stop objecting by ageing before anybody could act on it, neither
    while it waits nor because another packet came later.
    """
    recorded = (packet.recorded_at_ms for packet in facts.evidence.values())
    now_ms = max(recorded, default=facts.now_ms)
    evidence = {ref: _as_if_recorded(packet, now_ms) for ref, packet in facts.evidence.items()}
    return replace(facts, now_ms=now_ms, evidence=evidence)


def _as_if_recorded(packet: EvidencePacket, now_ms: int) -> EvidencePacket:
    observed_at_ms = packet.observed_at_ms + now_ms - packet.recorded_at_ms
    return replace(packet, observed_at_ms=observed_at_ms, recorded_at_ms=now_ms)


def evidence_ids(proposal: Proposal) -> frozenset[str]:
    """Return the ids of the packets that the proposal names, recorded or not."""
    document = proposal.read()
    refs = {p.evidence_ref for p in document.preconditions}
    return frozenset(refs | {b.evidence_id for b in document.evidence_bindings})


def same_evidence(tx: Transaction, proposal: Proposal, facts: Facts) -> bool:
    """Return whether the evidence that the facts were made of is still what is on record."""
    return evidence_named(tx, proposal) == dict(facts.evidence)
