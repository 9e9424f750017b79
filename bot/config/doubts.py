"""Find what a config may say and probably does not mean; it is told at the check and at each start.

It is not refused. Roles and groups of one's own are allowed, so that a misspelt one is no mistake
by itself; and without an operator the bot works until somebody has to freeze it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from lifecycle.policy import Agent, Person, Policy, ToolKind, ToolPolicy, roles_asked
from lifecycle.quorum import OPERATORS, REVIEWERS
from lifecycle.tier import Tier

#: Roles and groups that have a meaning although no tool names them (docs/config.md).
_ROLES: Final = frozenset({"reader", "writer", "admin", "secrets_reader", "service"})
_GROUPS: Final = frozenset({REVIEWERS, OPERATORS})
#: Signs between the words of a name; people do not remember which one it was.
_BETWEEN_WORDS: Final = str.maketrans("", "", "-_.")
#: The likeness from which one of two words is taken for a slip.
_ALIKE: Final = 0.8


def doubts(policy: Policy, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences: who may not do what they are there for, which calls will fail, and which
    names may be taken for each other."""
    tools = [tool for tool in policy.tools.values() if tool.tier is not Tier.BLOCK]
    yield from _twins(policy.tools, "tools, each with a tier of its own,")
    everybody = (*policy.people, *policy.agents, *policy.sources)
    yield from _twins(everybody, "people, agents or sources, who count each for themselves,")
    yield from _groups(policy, tools)
    yield from _roles(policy, tools)
    for tool in tools:
        yield from _unset(tool, environment)


def _twins(names: Collection[str], what: str) -> Iterator[str]:
    """Yield a sentence for names that differ only by case or by a sign between words.

    Whoever asks for one tool may mean the other, and rules that are strict about that one do not
    apply. One person under two ids gives two approvals.
    """
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
    if not policy.group(OPERATORS):
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
        asks = roles_asked(tool)
        if asks and not any(all(wanted & each.roles for wanted in asks) for each in proposers):
            yield _unproposable(tool, asks)
        for role in sorted((tool.roles or frozenset()) - held - _ROLES):
            if meant := _slip(role, held | _ROLES):
                yield f'{tool.name} asks for the role "{role}", which nobody has{meant}'
    for each in proposers:
        for role in sorted(each.roles - asked - _ROLES):
            if meant := _slip(role, asked | _ROLES):
                yield f'Nothing asks for the role "{role}" of {each.id}{meant}'


def _unproposable(tool: ToolPolicy, asks: Collection[frozenset[str]]) -> str:
    nobody = f"Nobody may propose {tool.name}: no agent and no person has"
    if tool.roles is not None:
        return f"{nobody} a role of its roles."
    wanted = " and ".join(f"the role {' or '.join(sorted(each))}" for each in asks)
    what = f"tool of safety {tool.safety.value} and sensitivity {tool.sensitivity.value}"
    remedy = f"give it to somebody, or write roles under {tool.name}."
    return f"{nobody} {wanted}, which a {what} asks for: {remedy}"


def _slip(word: str, known: Collection[str]) -> str:
    """Return words with the known word that was meant, empty if none is alike."""
    close = get_close_matches(word, sorted(known), n=1, cutoff=_ALIKE)
    return f'; did you mean "{close[0]}"?' if close else ""


def _unset(tool: ToolPolicy, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for variables that a tool needs and that are not set."""
    smtp = tool.settings.get("smtp") if tool.kind is ToolKind.EMAIL else None
    for key in ("username_env", "password_env"):
        named = (smtp or {}).get(key)
        if named and not environment.get(named):
            yield f"The mails of {tool.name} are not sent: {named} is not set."
    absent = [name for name in tool.settings.get("env", ()) if name not in environment]
    if absent:
        yield f"{tool.name} is called without what it asks for: {', '.join(absent)} is not set."
