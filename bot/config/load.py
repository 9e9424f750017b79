"""Load a config: from a file to a Config, or to everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bot.config.digest import digest_of_policy
from bot.config.identities import Identities, read_identities
from bot.config.models import (
    AutoApprovalEntry,
    ChatEntry,
    Entry,
    GroupEntry,
    IntakeEntry,
    LimitsEntry,
)
from bot.config.problems import ConfigInvalid, Problem, Problems, nearest
from bot.config.quorum import check_quorums
from bot.config.reading import read_file
from bot.config.rules import loaded_rules, read_rules, settled
from bot.config.structure import M, read_as
from bot.config.tools import read_tools
from bot.config.values import EnvName
from lifecycle.policy import Limits, Policy, RuleSettings, Safety, ToolPolicy
from lifecycle.sentinel import LoadedRule
from lifecycle.tier import Tier

_KEYS: Final = (
    *("database", "permit_secret_env", "people", "groups", "agents", "sources", "solo_operator"),
    *("auto_approval", "limits", "tools", "sentinel", "chat", "intake"),
)
#: What must stand in the file, and what to write where it does not.
_NEEDED: Final = {
    "people": "write people: {} where nobody is meant",
    "agents": "write agents: {} where nobody is meant",
    "tools": "write tools: {} where there is none",
    "sentinel": "write it, with an entry for each of the nine rules",
}
_DATABASE: Final = "sqlite:///data/signoff.db"
_SQLITE: Final = "sqlite:///"
_MEMORY: Final = "memory:"


class _EnvNameOnly(Entry):
    permit_secret_env: EnvName | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """What an operator decided. `database` is a URL: `sqlite:///…` or `memory:`.

    `text_digest` is the digest of the file's whole text.
    """

    path: Path
    policy: Policy
    database: str
    permit_secret_env: str | None
    chat: ChatEntry
    intake: IntakeEntry
    groups: Mapping[str, GroupEntry]
    text_digest: str
    #: The loaded rules, in their order; none if they were not asked for (`ask_rules`).
    rules: tuple[LoadedRule, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the file; relative paths count from there."""
        return self.path.parent

    @property
    def database_file(self) -> Path | None:
        """The file of the database, None if it is in memory."""
        if self.database == _MEMORY:
            return None
        return self.folder / self.database.removeprefix(_SQLITE)

    @property
    def data(self) -> Path:
        """The folder in which the bot keeps keys, drafts and the spool."""
        return self.folder / "data"

    @property
    def spool(self) -> Path:
        """The file with stops that the database could not take."""
        return self.data / "spool.jsonl"


def load_config(path: Path, *, ask_rules: bool = True, ask_classes: bool = True) -> Config:
    """Read and check `path`. Raises ConfigInvalid with every problem that was found.

    Without `ask_rules` the rules are not loaded, which saves time for commands that only look. Then
    their settings are not checked, and the policy has no digest. Without `ask_classes` it is not
    known of the tools that others wrote what they can take back.
    """
    config, problems = _loaded(path.absolute(), ask_rules=ask_rules, ask_classes=ask_classes)
    problems.raise_if_any()
    return config


def load_what_is_needed(
    path: Path, *, ask_classes: bool = False
) -> tuple[Config, tuple[Problem, ...]]:
    """Read where the database is and who the people are, whatever else is wrong with the file.

    A misspelt key must not take the emergency brake away while a bot runs on, and neither must a
    rule or a tool that others wrote: loading it may take for ever, where a server that it asks is
    dead. None is loaded, but for the classes of tools with `ask_classes`; without them it is not
    known which of these tools stage. Return the config, which is good only for looking, freezing
    and copying, and the problems. Raises ConfigInvalid if people or database are wrong.
    """
    config, problems = _loaded(path.absolute(), ask_rules=False, ask_classes=ask_classes)
    in_the_way = [
        problem
        for problem in problems.found
        if re.split(r"[.\[]", problem.key)[0] in ("", "database", "people")
    ]
    if in_the_way:
        raise ConfigInvalid(problems.found)
    return config, tuple(problems.found)


def _loaded(path: Path, *, ask_rules: bool, ask_classes: bool) -> tuple[Config, Problems]:
    written = read_file(path)
    file, problems = written.value, written.problems
    _check_keys(file, problems)
    who = read_identities(file, problems)
    tools = read_tools(file, path.parent if ask_classes else None, problems)
    rules = read_rules(file, problems)
    whole = settled(rules, path.parent)
    loaded = loaded_rules(whole, file, problems) if ask_rules else ()
    policy = _policy(file, who, tools, whole, problems)
    if loaded and not problems.found:
        versions = {each.id: each.rule.version for each in loaded}
        policy = replace(policy, digest=digest_of_policy(policy, rules, versions))
    config = Config(
        path=path,
        policy=policy,
        database=_database(file, problems),
        permit_secret_env=_permit_secret_env(file, problems),
        chat=_section(file, "chat", ChatEntry, problems),
        intake=_section(file, "intake", IntakeEntry, problems),
        groups=who.groups,
        text_digest=written.digest,
        rules=loaded,
    )
    return config, problems


def _check_keys(file: Mapping[str, Any], problems: Problems) -> None:
    for key in file:
        if key not in _KEYS:
            problems.add((key,), "there is no such key" + nearest(key, _KEYS))
    for key, remedy in _NEEDED.items():
        if key not in file:
            problems.add((), f"the key {key} is missing; {remedy}")


def _section(file: Mapping[str, Any], name: str, model: type[M], problems: Problems) -> M:
    return read_as(model, file.get(name, {}), (name,), problems) or model()


def _policy(
    file: Mapping[str, Any],
    who: Identities,
    tools: Mapping[str, ToolPolicy],
    rules: Mapping[str, RuleSettings],
    problems: Problems,
) -> Policy:
    solo = file.get("solo_operator", False)
    if not isinstance(solo, bool):
        problems.add(("solo_operator",), "this must be true or false")
    if not problems.within(("people",)):
        check_quorums(tools, who, solo_operator=solo is True, problems=problems)
    limits = _limits(_section(file, "limits", LimitsEntry, problems))
    orchestrator, tiers = _auto_approval(file, who, problems)
    return Policy(
        digest="",
        tools=tools,
        people=who.people,
        agents=who.agents,
        sources=who.sources,
        rules=rules,
        limits=limits,
        orchestrator=orchestrator,
        auto_approval_tiers=tiers,
        solo_operator=solo is True,
    )


def _auto_approval(
    file: Mapping[str, Any], who: Identities, problems: Problems
) -> tuple[str | None, frozenset[Tier]]:
    if "auto_approval" not in file:
        return None, frozenset()
    entry = read_as(AutoApprovalEntry, file["auto_approval"], ("auto_approval",), problems)
    if entry is None:
        return None, frozenset()
    if entry.by in who.people:
        words = f'"{entry.by}" is a person; auto-approval is an agent\'s, people use the emoji'
        problems.add(("auto_approval", "by"), words)
    elif entry.by not in who.agents:
        words = f'"{entry.by}" is no agent under agents' + nearest(entry.by, who.agents)
        problems.add(("auto_approval", "by"), words)
    for index, tier in enumerate(entry.tiers):
        if tier is not Tier.PROPOSE:
            words = f"auto-approval is for PROPOSE alone; {tier} cannot be opened by {entry.by}"
            problems.add(("auto_approval", "tiers", index), words)
    return entry.by, frozenset(entry.tiers)


def _limits(entry: LimitsEntry) -> Limits:
    return Limits(
        proposal_ttl_s=entry.proposal_ttl_s,
        refusal_binds_s=entry.refusal_binds_s,
        clock_skew_s=entry.clock_skew_s,
        longest_window_s=entry.longest_window_s,
        rate={safety: getattr(entry.rate, safety.value) for safety in Safety},
    )


def _permit_secret_env(file: Mapping[str, Any], problems: Problems) -> str | None:
    wanted = {key: value for key, value in file.items() if key == "permit_secret_env"}
    entry = read_as(_EnvNameOnly, wanted, (), problems)
    return entry.permit_secret_env if entry else None


def _database(file: Mapping[str, Any], problems: Problems) -> str:
    url = file.get("database", _DATABASE)
    if url == _MEMORY:
        return _MEMORY
    if isinstance(url, str) and url.startswith(_SQLITE) and url.removeprefix(_SQLITE).strip("/"):
        return url
    if isinstance(url, str) and url.startswith(("postgres:", "postgresql:", "postgresql+")):
        words = "PostgreSQL is not there yet; write sqlite:///data/signoff.db (one bot, one file)"
    else:
        words = (
            "write sqlite:///data/signoff.db (relative to this file), "
            'or "memory:", in quotes, for trying out'
        )
    problems.add(("database",), words)
    return _MEMORY
