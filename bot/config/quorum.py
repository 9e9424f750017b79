"""Check that enough people could ever approve: an empty group is nobody, not everybody."""

from __future__ import annotations

from collections.abc import Mapping

from bot.config.identities import Identities
from bot.config.problems import Problems, nearest
from lifecycle.policy import Agent, ToolPolicy, roles_asked
from lifecycle.quorum import REVIEWERS
from lifecycle.tier import TIER_POLICIES, Tier


def check_quorums(
    tools: Mapping[str, ToolPolicy], who: Identities, *, solo_operator: bool, problems: Problems
) -> None:
    """Note each tool whose quorum is out of reach for some agent that could propose it.

    Note as well each group that is named and has nobody in it, even if no quorum is needed.
    """
    for tool in tools.values():
        needed = max(TIER_POLICIES[tool.tier].quorum, tool.quorum_required)
        if tool.tier is not Tier.BLOCK and (needed or tool.reviewers != REVIEWERS):
            _check_tool(tool, needed, who, solo_operator, problems)
    held = _held(who)
    for group in who.groups.keys() - held:
        words = f'nobody would be called: no person has the group "{group}"'
        problems.add(("groups", group), words + nearest(group, held))


def _held(who: Identities) -> set[str]:
    """Return all groups that somebody is in."""
    return {group for person in who.people.values() for group in person.groups}


def _check_tool(
    tool: ToolPolicy, needed: int, who: Identities, solo_operator: bool, problems: Problems
) -> None:
    group = {name for name, person in who.people.items() if tool.reviewers in person.groups}
    if not group:
        problems.add(
            ("tools", tool.name, "reviewers"),
            f'nobody may review {tool.name}: no person has the group "{tool.reviewers}"'
            + nearest(tool.reviewers, _held(who)),
        )
        return
    if len(group) < needed:
        problems.add(
            ("tools", tool.name, "quorum"),
            f'{tool.name} needs {needed} approvals, and the group "{tool.reviewers}" has '
            f"{len(group)} ({', '.join(sorted(group))})",
        )
        return
    for agent in who.agents.values():
        may_propose = all(asked & agent.roles for asked in roles_asked(tool))
        if may_propose and not solo_operator:
            _check_agent(tool, needed, agent, group, problems)


def _check_agent(
    tool: ToolPolicy, needed: int, agent: Agent, group: set[str], problems: Problems
) -> None:
    eligible = group - {agent.owner}
    if len(eligible) < needed:
        # No quorum in the config goes below that of the tier.
        helps = TIER_POLICIES[tool.tier].quorum <= len(eligible)
        or_quorum = " or the quorum" if helps else ""
        problems.add(
            ("agents", agent.id, "owner"),
            f"{agent.owner} owns {agent.id} and may not approve its proposals, so that "
            f"{tool.name}, which needs {needed}, has {len(eligible)} reviewers; add a reviewer to "
            f'"{tool.reviewers}", change the owner{or_quorum}, or set solo_operator: true',
        )
