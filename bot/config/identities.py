"""Read people, agents and sources, and check that nobody is two of them (sections 6 and 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.config.models import AgentEntry, GroupEntry, PersonEntry, SourceEntry
from bot.config.problems import Problems, nearest
from bot.config.structure import read_as
from bot.config.values import identifier
from lifecycle.policy import Agent, Person, Source

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Identities:
    """Everybody the config knows, and the groups that a card may call."""

    people: Mapping[str, Person]
    agents: Mapping[str, Agent]
    sources: Mapping[str, Source]
    groups: Mapping[str, GroupEntry]


def read_entries(
    file: Mapping[str, Any], section: str, model: type[E], problems: Problems
) -> dict[str, E]:
    """Return the readable entries of a section, by id, in the order of the file."""
    found: dict[str, E] = {}
    for name, value in section_of(file, section, problems).items():
        parts = (section, name)
        try:
            identifier(name)
        except ValueError as error:
            problems.add(parts, str(error))
        entry = read_as(model, value, parts, problems)
        if entry is not None:
            found[name] = entry
    return found


def section_of(file: Mapping[str, Any], section: str, problems: Problems) -> dict[str, Any]:
    """Return a section as a mapping; absent is empty, anything else is noted as a problem."""
    value = file.get(section, {})
    if isinstance(value, dict):
        return value
    problems.add((section,), "this must be a mapping ({} where there is nothing to say)")
    return {}


def read_identities(file: Mapping[str, Any], problems: Problems) -> Identities:
    """Read people, agents, sources and groups, and check that they fit together."""
    people = read_entries(file, "people", PersonEntry, problems)
    agents = read_entries(file, "agents", AgentEntry, problems)
    sources = read_entries(file, "sources", SourceEntry, problems)
    groups = read_entries(file, "groups", GroupEntry, problems)
    _check_ids(file, problems)
    _check_accounts({"people": people, "agents": agents, "sources": sources}, problems)
    _check_agents(agents, file, problems)
    return Identities(
        {name: _person(name, entry) for name, entry in people.items()},
        {name: _agent(name, entry) for name, entry in agents.items()},
        {name: _source(name, entry) for name, entry in sources.items()},
        groups,
    )


def _check_ids(file: Mapping[str, Any], problems: Problems) -> None:
    seen: dict[str, str] = {}
    for section in ("people", "agents", "sources"):
        entries = file.get(section)
        for name in entries if isinstance(entries, dict) else ():
            if name in seen:
                problems.add(
                    (section, name),
                    f'"{name}" stands under {seen[name]} already; one id is one person, agent or '
                    "source",
                )
            seen.setdefault(name, section)


def _check_accounts(sections: Mapping[str, Mapping[str, Any]], problems: Problems) -> None:
    claimed: dict[tuple[str, str], str] = {}
    for section, name, surface, account in _accounts(sections):
        first = claimed.setdefault((surface, account), f"{section}.{name}")
        if first != f"{section}.{name}":
            problems.add(
                (section, name, surface),
                f"this account belongs to {first} already; an account belongs to one alone",
            )


def _accounts(
    sections: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, str, str, str]]:
    for section, entries in sections.items():
        for name, entry in entries.items():
            for surface, account in entry.by_surface().items():
                yield section, name, surface, account


def _check_agents(
    agents: Mapping[str, AgentEntry], file: Mapping[str, Any], problems: Problems
) -> None:
    written = file.get("people")
    people = list(written) if isinstance(written, dict) else []
    for name, entry in agents.items():
        if entry.owner is not None and entry.owner not in people:
            problems.add(
                ("agents", name, "owner"),
                f'the owner of {name}, "{entry.owner}", is nobody under people'
                + nearest(entry.owner, people),
            )
        if (entry.callback_url is None) != (entry.callback_secret_env is None):
            problems.add(
                ("agents", name), f"{name} needs callback_url and callback_secret_env, or neither"
            )


def _person(name: str, entry: PersonEntry) -> Person:
    return Person(
        id=name,
        accounts=entry.by_surface(),
        groups=frozenset(entry.groups),
        roles=frozenset(entry.roles),
        attributes=entry.attributes.model_dump(exclude_none=True),
        open_limit=entry.open_limit,
        terminal=entry.terminal,
    )


def _agent(name: str, entry: AgentEntry) -> Agent:
    return Agent(
        id=name,
        accounts=entry.by_surface(),
        roles=frozenset(entry.roles),
        attributes=entry.attributes.model_dump(exclude_none=True),
        owner=entry.owner,
        open_limit=entry.open_limit,
        terminal=entry.terminal,
        token_env=entry.token_env,
        callback_url=entry.callback_url,
        callback_secret_env=entry.callback_secret_env,
    )


def _source(name: str, entry: SourceEntry) -> Source:
    return Source(
        id=name,
        accounts=entry.by_surface(),
        terminal=entry.terminal,
        token_env=entry.token_env,
    )
