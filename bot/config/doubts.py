"""What a config may say and surely does not mean: told at the check and at each start, not refused.

Roles and groups of one's own are allowed, so a misspelt one is no mistake by itself; and without
an operator the bot works, until somebody has to freeze it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from lifecycle.policy import Agent, Person, Policy, ToolKind, ToolPolicy
from lifecycle.tier import Tier

#: Roles and groups that mean something without any tool that names them (docs/config.md).
_ROLES: Final = frozenset({"reader", "writer", "admin", "secrets_reader", "service"})
_GROUPS: Final = frozenset({"approvers", "operators"})
#: What stands between the words of a tool's name, whose style people do not remember.
_BETWEEN_WORDS: Final = str.maketrans("", "", "-_.")
#: So alike are two words of which one is taken for a slip.
_ALIKE: Final = 0.8


def doubts(policy: Policy, environment: Mapping[str, str]) -> Iterator[str]:
    """Say who may not do what they are there for, which calls will not come about, and which tool
    may be taken for another."""
    tools = [tool for tool in policy.tools.values() if tool.tier is not Tier.BLOCK]
    yield from _twins(policy.tools, "tools, each with a tier of its own,")
    everybody = (*policy.people, *policy.agents, *policy.sources)
    yield from _twins(everybody, "people, agents or sources, who count each for themselves,")
    yield from _groups(policy, tools)
    yield from _roles(policy, tools)
    for tool in tools:
        yield from _unset(tool, environment)


def _twins(names: Collection[str], what: str) -> Iterator[str]:
    """Say which are told apart by a letter's case or a hyphen alone: whoever asks for one tool may
    mean the other, and nothing strict that is said of that holds for it; one person under two ids
    is two approvals."""
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(_spelt(name), []).append(name)
    for twins in alike.values():
        if len(twins) > 1:
            yield (
                f"{' and '.join(twins)} are different {what} and easily taken for each other: "
                "give one of them another name."
            )


def _spelt(name: str) -> str:
    return name.casefold().translate(_BETWEEN_WORDS)


def _groups(policy: Policy, tools: Collection[ToolPolicy]) -> Iterator[str]:
    if not policy.group("operators"):
        yield "Nobody is in the group operators: freeze and thaw work for nobody, here and in chat."
    known = _GROUPS | {tool.reviewers for tool in tools}
    for person in policy.people.values():
        for group in sorted(person.groups - known):
            if meant := _slip(group, known):
                yield f'No tool asks for the group "{group}" of {person.id}{meant}'


def _roles(policy: Policy, tools: Collection[ToolPolicy]) -> Iterator[str]:
    proposers: tuple[Person | Agent, ...] = (*policy.people.values(), *policy.agents.values())
    held = {role for each in proposers for role in each.roles}
    asked = {role for tool in tools for role in tool.roles or ()}
    for tool in tools:
        if tool.roles is not None and not tool.roles & held:
            yield f"Nobody may propose {tool.name}: no agent and no person has a role of its roles."
        for role in sorted((tool.roles or frozenset()) - held - _ROLES):
            if meant := _slip(role, held | _ROLES):
                yield f'{tool.name} asks for the role "{role}", which nobody has{meant}'
    for each in proposers:
        for role in sorted(each.roles - asked - _ROLES):
            if meant := _slip(role, asked | _ROLES):
                yield f'Nothing asks for the role "{role}" of {each.id}{meant}'


def _slip(word: str, known: Collection[str]) -> str:
    """Return which known word was meant, nothing where none is alike."""
    close = get_close_matches(word, sorted(known), n=1, cutoff=_ALIKE)
    return f'; did you mean "{close[0]}"?' if close else ""


def _unset(tool: ToolPolicy, environment: Mapping[str, str]) -> Iterator[str]:
    """Say which variables a tool is to see, or to log in with, and will not find."""
    smtp = tool.settings.get("smtp") if tool.kind is ToolKind.EMAIL else None
    for key in ("username_env", "password_env"):
        named = (smtp or {}).get(key)
        if named and not environment.get(named):
            yield f"The mails of {tool.name} are not sent: {named} is not set."
    absent = [name for name in tool.settings.get("env", ()) if name not in environment]
    if absent:
        yield f"{tool.name} is called without what it asks for: {', '.join(absent)} is not set."
