"""Explains why a proposal is in its state: every rule's verdict and every condition of authority.

`signoff explain`, the command `explain` of the surfaces and the HTTP door use it.
"""

from __future__ import annotations

from typing import Any

from bot.views import as_seen, resolve
from lifecycle.authority import ALLOWED, Condition, explain, rate_of
from lifecycle.ending import verdict_json
from lifecycle.policy import Agent, Person, Policy, Rate
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Proposal
from lifecycle.text.masking import mask_secrets
from lifecycle.tier import Tier


def explained(tx: Transaction, given: str, policy: Policy, now_ms: int) -> dict[str, Any]:
    """Return the verdict rule by rule and the conditions of authority under `policy`, as JSON.

    A view; raises ProposalNotFound and AmbiguousId as `resolve` does. `authority` is null if the
    tool or the proposer is no longer configured, or the document was masked.
    """
    proposal = as_seen(resolve(tx, given), now_ms)
    return {
        "proposal_id": proposal.proposal_id,
        "state": proposal.state.value,
        "reason": proposal.reason,
        "explanation": mask_secrets(proposal.explanation),
        "waiting_for": proposal.waiting_for,
        "verdict": mask_secrets(verdict_json(proposal.verdict)),
        "authority": authority_json(proposal, policy),
        **_of_a_plan(proposal),
    }


def _of_a_plan(proposal: Proposal) -> dict[str, Any]:
    """Return the plan that a proposal came from and the witness of its check (seed 001); empty if
    it came from no plan."""
    if "witness_record" not in proposal.extra:
        return {}
    return {
        "plan": mask_secrets(proposal.extra["plan"]),
        "witness": proposal.extra["witness_record"],
    }


def authority_json(proposal: Proposal, policy: Policy) -> dict[str, Any] | None:
    """Return each condition of authority and whether it holds; None as in `explained`.

    The rate is said to have held when this was proposed: nothing else is on record, and it is
    another one a second later. A BLOCK tool has no rate here, because it is refused before the rate
    is asked for.
    """
    proposer, tool = _proposer(proposal, policy), policy.tools.get(proposal.tool)
    if proposer is None or tool is None or proposal.masked:  # a masked document is gone
        return None
    found = explain(proposer, tool, proposal.read())
    conditions = [_condition(each) for each in found.conditions]
    if proposal.tool_tier is not Tier.BLOCK:
        conditions.append(_rate(rate_of(tool, policy, proposer)))
    return {
        "rule": found.rule_name,
        "denied": found.denied,
        "reason": found.reason_code or ALLOWED,
        "conditions": conditions,
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "name": "rate",
        "held": True,
        "required": f"at most {rate.count} in {rate.per_s} s",
        "actual": "no more than was allowed when it was proposed",
        "code": None,
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "name": condition.name,
        "held": condition.held,
        "required": condition.required,
        "actual": condition.actual,
        "code": None if condition.held else condition.code,
    }


def _proposer(proposal: Proposal, policy: Policy) -> Agent | Person | None:
    if proposal.actor.kind is ActorKind.PERSON:
        return policy.people.get(proposal.actor.id)
    return policy.agents.get(proposal.actor.id)
