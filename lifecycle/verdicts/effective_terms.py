"""Computes how a proposal stands under a policy: tier, quorum and window, from its bytes."""

from __future__ import annotations

from typing import Any

from lifecycle.moment import Moment
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.quorum import configured_tier, effective_tier, quorum_of
from lifecycle.tier import TIER_POLICIES, Tier
from lifecycle.windows import window_asked


def restood(policy: Policy, proposal: Proposal) -> Proposal | None:
    """Return the proposal as this policy makes it stand; None if its tool may not be used."""
    tool = policy.tools.get(proposal.tool)
    if tool is None or configured_tier(tool) is Tier.BLOCK:
        return None
    document = proposal.read()
    tier = effective_tier(tool, document)
    quorum, needs_people = quorum_of(tool, document)
    return proposal.but(
        tier=tier,
        tool_tier=tool.tier,
        quorum=quorum,
        quorum_needs_people=needs_people,
        window_s=window_at(policy, proposal, tier),
    )


def window_at(policy: Policy, proposal: Proposal, tier: Tier) -> int:
    """Return the window in seconds that this policy gives a proposal at `tier`.

    A window is never shortened; if its tool can take nothing back any more, there is none.
    """
    tool = policy.tools.get(proposal.tool)
    if tool is None:
        return proposal.window_s
    window_s = window_asked(tool, tier, proposal.read().rollback_semantics)
    return max(proposal.window_s, window_s) if tool.reversible else 0


def stands_as_judged(policy: Policy, proposal: Proposal) -> bool:
    """Return whether the row asks for at least what this policy makes of its bytes.

    The law never writes a lower tier, quorum or window: then somebody changed the row.
    """
    fresh = restood(policy, proposal)
    if fresh is None:
        return False
    strictness = list(TIER_POLICIES)
    return (
        strictness.index(proposal.tier) >= strictness.index(fresh.tier)
        and proposal.quorum >= fresh.quorum
        and proposal.quorum_needs_people >= fresh.quorum_needs_people
        and proposal.window_s >= fresh.window_s
    )


def standing_changes(fresh: Proposal) -> dict[str, Any]:
    """Return the fields of a row that follow from the policy, taken from `fresh`."""
    return {
        "tier": fresh.tier,
        "tool_tier": fresh.tool_tier,
        "quorum": fresh.quorum,
        "quorum_needs_people": fresh.quorum_needs_people,
        "window_s": fresh.window_s,
    }


def standing_details(fresh: Proposal) -> dict[str, Any]:
    """Return what an entry tells of who must decide, so that the row can be compared with it."""
    return {
        "tier": fresh.tier.value,
        "quorum": fresh.quorum,
        "needs_people": fresh.quorum_needs_people,
        "window_s": fresh.window_s,
    }


def revoke_permit(tx: Transaction, moment: Moment, proposal: Proposal) -> dict[str, Any]:
    """Use up a permit that an agent holds and has not redeemed; return the changes of its row.

    The deadline becomes that of a proposal without a permit again. Empty if no permit waits.
    """
    if not proposal.permit_waits:
        return {}
    permit = tx.permits.of(proposal.proposal_id, Verb.EXECUTE.value, 1)
    if permit is not None:
        tx.permits.consume(permit.permit_id, moment.now_ms)
    try:
        window = proposal.read().time_window
    except ValueError:
        window = None  # somebody changed the row; it begins no more, whatever its deadline
    ttl_ms = proposal.created_at_ms + moment.policy.limits.proposal_ttl_s * 1000
    return {
        "permit_waits": False,
        "waiting_for": None,
        "deadline_ms": window.valid_until_ms if window else ttl_ms,
    }
