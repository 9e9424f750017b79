"""Grants permits as the workflow uses them: with the intent, and used up right before the call."""

from __future__ import annotations

from lifecycle import permit as permits
from lifecycle.moment import Moment
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.records import PermitRecord


def grant(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy,
    verb: Verb,
    attempt: int,
    *,
    used: bool = True,
) -> str:
    """Issue and store the permit for one verb and attempt; return the signed token.

    A permit for a call of our own is used up in the very unit that writes the intent, so that it
    can never serve twice; one for an agent (`used` False) is used up at redemption. The proposal's
    time window bounds execute alone, so that nothing stands in the way of a roll back, or of a
    commit whose window closed late.
    """
    issued = _permit(moment, proposal, tool, verb, attempt)
    token = permits.issue(issued, moment.ring)
    tx.permits.add(
        PermitRecord(
            permit_id=issued.permit_id,
            proposal_id=proposal.proposal_id,
            verb=verb.value,
            attempt=attempt,
            token=token,
            expires_at_ms=issued.expires_at_ms,
            consumed_at_ms=moment.now_ms if used else None,
        )
    )
    return token


def _permit(
    moment: Moment, proposal: Proposal, tool: ToolPolicy, verb: Verb, attempt: int
) -> permits.Permit:
    expires_ms = moment.now_ms + permits.LONGEST_VALIDITY_MS
    window = proposal.read().time_window if _begins(proposal, verb, attempt) else None
    if window is not None:
        expires_ms = min(expires_ms, window.valid_until_ms)
    return permits.Permit(
        permit_id=moment.nonce(),
        proposal_id=proposal.proposal_id,
        digest=proposal.digest,
        r3_uri=r3_uri(moment.public_url, proposal),
        r3_s256=proposal.r3_s256,
        tool=tool.name,
        actor=proposal.actor.id,
        verb=verb.value,
        attempt=attempt,
        policy_digest=moment.policy.digest,
        not_before_ms=moment.now_ms,
        expires_at_ms=expires_ms,
        nonce=moment.nonce(),
    )


def _begins(proposal: Proposal, verb: Verb, attempt: int) -> bool:
    """Return whether this call starts execution; a call taken up after a crash began long ago."""
    execution = proposal.execution
    return verb is Verb.EXECUTE and (execution is None or execution.attempt != attempt)


def r3_uri(public_url: str, proposal: Proposal) -> str:
    """Return the URI at which the R3 document of a proposal can be read (seed 003)."""
    return f"{public_url.rstrip('/')}/r3/{proposal.r3_s256}"
