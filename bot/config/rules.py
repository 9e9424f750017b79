"""The nine rules: all present, each with a level, naming tools that exist (design section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.config.identities import section_of
from bot.config.problems import Problems, nearest, quoted
from lifecycle.codes import RULES
from lifecycle.paths import Parts
from lifecycle.policy import Level, RuleSettings


def read_rules(file: Mapping[str, Any], problems: Problems) -> dict[str, RuleSettings]:
    """Return the settings of the rules that can be read; a rule that is missing is a problem."""
    section = section_of(file, "sentinel", problems)
    for rule in RULES:
        if rule not in section:
            problems.add(
                ("sentinel",),
                f"the rule {rule} is missing; all nine must be configured (write "
                f"{rule}: {{level: hard}} and its settings)",
            )
    found = {name: _rule(name, value, problems) for name, value in section.items()}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(name: str, value: Any, problems: Problems) -> RuleSettings | None:
    parts = ("sentinel", name)
    if not isinstance(value, dict):
        problems.add(parts, f"{name} must be a mapping, like {{level: hard}}")
        return None
    level = value.get("level")
    if level not in list(Level):
        if level is None:
            words = f"{name} needs a level: hard, soft or advisory"
        else:
            words = f"{quoted(level)} is no level of {name}" + nearest(str(level), list(Level))
        problems.add((*parts, "level") if "level" in value else parts, words)
        return None
    return RuleSettings(Level(level), {k: v for k, v in value.items() if k != "level"})


def check_tool_names(
    rules: Mapping[str, RuleSettings], file: Mapping[str, Any], problems: Problems
) -> None:
    """Note the tools that a rule's settings name and the config does not declare."""
    written = file.get("tools")
    known = list(written) if isinstance(written, dict) else []
    for rule, settings in rules.items():
        for parts, name in _tools_named(rule, settings.settings):
            if name not in known:
                problems.add(
                    ("sentinel", rule, *parts),
                    f"{rule} names the tool {quoted(name)}, which is not under tools"
                    + nearest(str(name), known),
                )


def _tools_named(rule: str, settings: Mapping[str, Any]) -> Iterator[tuple[Parts, Any]]:
    match rule:
        case "deploy_target_allowed":
            yield from _keys(settings, "targets")
        case "blast_radius_bounded":
            yield from _keys(settings, "roots")
        case "change_window_open":
            yield from _keys(settings, "hours")
            freezes = settings.get("freezes")
            for index, freeze in enumerate(freezes if isinstance(freezes, list) else ()):
                tools = freeze.get("tools") if isinstance(freeze, dict) else None
                for place, name in enumerate(tools if isinstance(tools, list) else ()):
                    yield ("freezes", index, "tools", place), name
        case _:
            return


def _keys(settings: Mapping[str, Any], key: str) -> Iterator[tuple[Parts, Any]]:
    value = settings.get(key)
    for name in value if isinstance(value, dict) else ():
        yield (key, name), name
