"""Decides who may approve and stop, and how many must (design sections 3 and 6)."""

from __future__ import annotations

from typing import Final, assert_never

from lifecycle.document import ProposalDocument
from lifecycle.policy import ApprovalClass, Policy, ToolPolicy
from lifecycle.proposal import Identity
from lifecycle.tier import ALWAYS_BLOCKED, TIER_POLICIES, Tier

#: The group whose members may stop anything.
OPERATORS: Final = "operators"
#: The group that reviews for a tool that names none, or has left the config.
REVIEWERS: Final = "approvers"


def approval_class_of(document: ProposalDocument) -> ApprovalClass | None:
    """Return the class that the proposal asks for, `none` if it asks for nothing.

    None for a class that does not exist, which is V-PROP-014.
    """
    asked = document.approval_class
    if asked is None:
        return ApprovalClass.NONE
    return next((each for each in ApprovalClass if each.value == asked), None)


def people_asked_for(approval_class: ApprovalClass, tool: ToolPolicy) -> int:
    """Return how many people a class calls for; a threshold takes its number from the tool."""
    match approval_class:
        case ApprovalClass.NONE:
            return 0
        case ApprovalClass.SINGLE:
            return 1
        case ApprovalClass.DUAL:
            return 2
        case ApprovalClass.THRESHOLD:
            return max(1, tool.quorum_required)
        case _:
            assert_never(approval_class)


def _explicit(tool: ToolPolicy, document: ProposalDocument) -> int:
    """Return the quorum set by the tool or the proposal; an unknown class counts as one person."""
    asked = approval_class_of(document)
    return max(
        people_asked_for(tool.quorum_class, tool),
        1 if asked is None else people_asked_for(asked, tool),
    )


def configured_tier(tool: ToolPolicy) -> Tier:
    """Return the tool's tier; tools that are always blocked are BLOCK whatever a config says."""
    return Tier.BLOCK if tool.name in ALWAYS_BLOCKED else tool.tier


def effective_tier(tool: ToolPolicy, document: ProposalDocument) -> Tier:
    """Return the tier that counts: a quorum of people turns AUTO and AUTO+ into CONFIRM."""
    tier = configured_tier(tool)
    match tier:
        case Tier.AUTO | Tier.AUTO_PLUS:
            return Tier.CONFIRM if _explicit(tool, document) else tier
        case Tier.PROPOSE | Tier.CONFIRM | Tier.BLOCK:
            return tier
        case _:
            assert_never(tier)


def quorum_of(tool: ToolPolicy, document: ProposalDocument) -> tuple[int, bool]:
    """Return how many must approve, and whether only people count for it.

    The number is the highest of tier, tool and proposal. Only PROPOSE's own 1, set by neither tool
    nor proposal, may be stood in for by auto-approval.
    """
    tier = effective_tier(tool, document)
    explicit = _explicit(tool, document)
    match tier:
        case Tier.BLOCK:
            return 0, True
        case Tier.CONFIRM:
            return max(TIER_POLICIES[tier].quorum, explicit), True
        case Tier.AUTO | Tier.AUTO_PLUS | Tier.PROPOSE:
            return max(TIER_POLICIES[tier].quorum, explicit), explicit > 0
        case _:
            assert_never(tier)


def eligible(policy: Policy, tool: ToolPolicy, proposer: str) -> frozenset[str]:
    """Return the people who may approve what the agent or person of id `proposer` proposes."""
    excluded = {proposer}
    if not policy.solo_operator:
        excluded.add(policy.owner_of(proposer) or proposer)
    return policy.reviewers_of(tool) - excluded


def can_auto_approve(policy: Policy, proposer: str) -> bool:
    """Return whether there is an orchestrator that may stand in for PROPOSE's own quorum here."""
    return policy.orchestrator is not None and policy.orchestrator != proposer


def within_reach(
    policy: Policy, tool: ToolPolicy, proposer: str, quorum: int, needs_people: bool
) -> bool:
    """Return whether enough people may approve, or auto-approval may stand in for them."""
    if len(eligible(policy, tool, proposer)) >= quorum:
        return True
    return not needs_people and quorum <= 1 and can_auto_approve(policy, proposer)


def may_approve(
    policy: Policy, tool: ToolPolicy, proposal_actor: Identity, person_id: str
) -> tuple[str, str] | None:
    """Return None if this person may approve, else (code, words) of why not.

    Codes: `own_proposal`, `not_a_reviewer`, `owner_of_agent`.
    """
    if person_id == proposal_actor.id:
        return "own_proposal", "Nobody approves an own proposal: another reviewer must."
    if person_id not in policy.reviewers_of(tool):
        return (
            "not_a_reviewer",
            f"Only people of the group {tool.reviewers} approve what {tool.name} does.",
        )
    if person_id == policy.owner_of(proposal_actor.id) and not policy.solo_operator:
        return (
            "owner_of_agent",
            "The owner of an agent may stop its proposals, never approve them.",
        )
    return None


def may_stop(
    policy: Policy, tool: ToolPolicy, proposal_actor: Identity, person_id: str
) -> tuple[str, str] | None:
    """Return None if this person may reject and roll back, else (code, words) of why not.

    Reviewers, operators and the owner of the proposing agent may; a proposer who is none of them
    withdraws instead.
    """
    owner = policy.owner_of(proposal_actor.id)
    stoppers = policy.reviewers_of(tool) | policy.group(OPERATORS)
    known = person_id in policy.people
    if person_id in stoppers or (known and person_id == owner):
        return None
    return (
        "not_a_reviewer",
        f"Only the group {tool.reviewers}, operators and the agent's owner stop this; "
        "a proposer may withdraw.",
    )


def may_stop_anything(policy: Policy, person_id: str) -> bool:
    """Return whether there is anything at all that this person may reject or roll back."""
    person = policy.people.get(person_id)
    if person is None:
        return False
    stoppers = {OPERATORS, REVIEWERS, *(tool.reviewers for tool in policy.tools.values())}
    owners = {agent.owner for agent in policy.agents.values()}
    return not stoppers.isdisjoint(person.groups) or person_id in owners
