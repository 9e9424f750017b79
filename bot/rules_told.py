"""Describes the rules with their laws and their own cases, for `signoff rules`."""

from __future__ import annotations

from typing import Any

from bot.chat.cards.neutral import neutral_value
from bot.chat.commands import listing
from bot.chat.commands.replies import CommandReply, Table
from bot.config import Config
from lifecycle.policy import Policy
from lifecycle.sentinel import LoadedRule
from sentinel_rules import page_of


def laws_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return every rule by id: its law, level, settings and the names of its own cases."""
    return {loaded.id: _law(loaded, config.policy) for loaded in config.rules}


def _law(loaded: LoadedRule, policy: Policy) -> dict[str, Any]:
    rule = loaded.rule
    return {
        "id": loaded.id,
        "law": rule.summary,
        "version": rule.version,
        "level": loaded.level.value,
        "settings": dict(policy.rules[loaded.id].settings),
        "passes": [case.name for case in rule.passes],
        "fails": [{"name": case.name, "code": case.code} for case in rule.fails],
        "page": page_of(rule),
    }


def rules_reply(policy: Policy, laws: dict[str, dict[str, Any]]) -> CommandReply:
    """Return every rule with its level and its law."""
    return listing.rules_reply(policy, {name: law["law"] for name, law in laws.items()})


def rule_reply(law: dict[str, Any]) -> CommandReply:
    """Return one rule in words."""
    head = f"{law['id']} ({law['level']}, version {law['version']})"
    settings = tuple((name, neutral_value(value).text) for name, value in law["settings"].items())
    cases = [("passes", name, "") for name in law["passes"]]
    cases += [("fails", case["name"], case["code"]) for case in law["fails"]]
    blocks: list[str | Table] = [head, law["page"]]
    if settings:
        blocks.append(Table("In this config", ("setting", "value"), settings))
    blocks.append(Table("Its own cases", ("", "case", "finding"), tuple(cases)))
    return CommandReply(tuple(blocks))
