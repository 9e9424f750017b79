"""The rules: each with a level, loaded whole, naming tools that exist (design section 5)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bot.config.identities import section_of
from bot.config.problems import Problems, nearest, quoted
from lifecycle.policy import Level, RuleSettings

_BOUNDED: Final = "blast_radius_bounded"


def read_rules(file: Mapping[str, Any], problems: Problems) -> dict[str, RuleSettings]:
    """Return the level and the settings of every rule that has them."""
    section = section_of(file, "sentinel", problems)
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


def load_versions(
    rules: Mapping[str, RuleSettings], file: Mapping[str, Any], problems: Problems
) -> dict[str, int]:
    """Return the versions of the rules by id; note what keeps the rules from loading.

    The rules themselves say which of their settings is wrong, and which tools they name.
    """
    from sentinel_rules import RuleLoadError, load_rules, rules_fingerprint, tools_named

    try:
        loaded = load_rules(rules)
    except RuleLoadError as error:
        for problem in error.problems:
            if problem.rule in rules or problem.rule not in _written(file):
                problems.add(problem.path, problem.remedy)
        return {}
    for rule, parts, tool in tools_named(loaded):
        if tool not in _tools(file):
            words = f"{rule} names the tool {quoted(tool)}, which is not under tools"
            problems.add(parts, words + nearest(tool, _tools(file)))
    return rules_fingerprint(loaded)


def settled(rules: Mapping[str, RuleSettings], folder: Path) -> dict[str, RuleSettings]:
    """Return the rules as they are to be loaded: roots relative to the config's folder made whole.

    The digest is taken of what was written, so that it does not depend on where the file lies.
    """
    bounded = rules.get(_BOUNDED)
    roots = bounded.settings.get("roots") if bounded else None
    if bounded is None or not isinstance(roots, dict):
        return dict(rules)
    whole = {tool: _whole(root, folder) for tool, root in roots.items()}
    return {**rules, _BOUNDED: replace(bounded, settings={**bounded.settings, "roots": whole})}


def _whole(root: Any, folder: Path) -> Any:
    if not isinstance(root, str) or not root or root.startswith(("/", "~")):
        return root
    return os.path.normpath(folder / root)


def _written(file: Mapping[str, Any]) -> Collection[str]:
    section = file.get("sentinel")
    return section if isinstance(section, dict) else ()


def _tools(file: Mapping[str, Any]) -> Collection[str]:
    section = file.get("tools")
    return section if isinstance(section, dict) else ()
