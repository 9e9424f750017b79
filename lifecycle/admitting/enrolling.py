"""Writes the row of a new proposal, and all that is stored with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.announcing import want_cards
from lifecycle.answers import Sender
from lifecycle.door import record
from lifecycle.event_kinds import EventKind
from lifecycle.first_gate.gate import Accepted
from lifecycle.likeness import known_by
from lifecycle.llm.witness import PROVENANCE
from lifecycle.moment import Moment, on_calendar
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity, Proposal
from lifecycle.records import Money
from lifecycle.state import State
from lifecycle.text.amounts import amounts_of

_DAY_MS = 86_400_000


def enrol(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Proposal:
    """Write the row, its amounts and the evidence it names, and the first entry of its trail."""
    proposal = _row(tx, moment, accepted, sender).having_read(accepted.document)
    tx.proposals.add(proposal)
    document = accepted.document
    refs = {p.evidence_ref for p in document.preconditions}
    refs |= {b.evidence_id for b in document.evidence_bindings}
    if refs:
        tx.proposals.bind_evidence(proposal.proposal_id, sorted(refs))
    amounts = amounts_of(document.parameters, document.target.constraints)
    if amounts:
        tx.spending.add(document.actor, proposal.proposal_id, amounts)
    record(
        tx,
        moment,
        EventKind.SUBMITTED,
        sender.identity,
        proposal=proposal,
        sender=sender,
        moved=(None, State.PENDING.value),
        details={
            "tool": proposal.tool,
            "tier": proposal.tier.value,
            "deadline_ms": proposal.deadline_ms,
            "known_by": known_by(proposal.content_digest, proposal.likeness_digest),
        }
        | _spends(amounts)
        | _witnessed(accepted),
    )
    # Wanted from now on, so that cards come in the order of the proposals, not of the verdicts.
    want_cards(tx, moment, proposal)
    return proposal


def _spends(amounts: Sequence[Money]) -> dict[str, Any]:
    """Tell by currency what counts for limits, so that rows can be compared with it later."""
    return {"spends": {each.currency: str(each.amount) for each in amounts}} if amounts else {}


def _witnessed(accepted: Accepted) -> dict[str, str]:
    """Name the witness of the plan that the proposal came from, and a digest of what its card shows
    of that, for its first audit entry."""
    found = accepted.extra.get("witness")
    told = {"witness": found, "provenance": PROVENANCE} if found else {}
    return told | ({"beside": digest_told(accepted.extra)} if accepted.extra else {})


def _row(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Proposal:
    document, limits = accepted.document, moment.policy.limits
    window = document.time_window
    ttl_ms = moment.now_ms + limits.proposal_ttl_s * 1000
    assert sender.identity is not None  # noqa: S101 - actor equals the sender by now
    return unsaved(accepted, sender, moment).but(
        version=1,
        checked_policy_digest=moment.policy.digest,
        place=sender.place,
        deadline_ms=on_calendar(window.valid_until_ms) if window else ttl_ms,
        valid_from_ms=on_calendar(window.valid_from_ms) if window else None,
        quorum_needs_people=accepted.quorum_needs_people,
        window_s=accepted.window_s,
        task_id=document.task_id,
        extra=accepted.extra,
        resembles_refused=tx.proposals.refused_tool_lately(
            document.actor, accepted.tool.name, moment.now_ms - _DAY_MS
        ),
    )


def unsaved(accepted: Accepted, sender: Sender, moment: Moment) -> Proposal:
    """Return a proposal that is not on record, for a dry run of the rules."""
    identity = sender.identity or Identity(ActorKind.AGENT, accepted.document.actor)
    return Proposal(
        proposal_id=accepted.document.proposal_id,
        version=0,
        state=State.PENDING,
        tier=accepted.tier,
        tool_tier=accepted.tool.tier,
        tool=accepted.tool.name,
        actor=identity,
        digest=accepted.digest,
        content_digest=accepted.content_digest,
        likeness_digest=accepted.likeness_digest,
        policy_digest=moment.policy.digest,
        document=accepted.canonical,
        r3_document=accepted.r3_document,
        r3_s256=accepted.r3_s256,
        surface=sender.surface,
        created_at_ms=moment.now_ms,
        deadline_ms=moment.now_ms,
        quorum=accepted.quorum,
    )
