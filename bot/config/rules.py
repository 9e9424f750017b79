"""Read the rules: each has a level, all load, and they name existing tools (design section 5)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bot.config.identities import section_of
from bot.config.problems import Problems, nearest, quoted
from lifecycle.nearest import nearest as most_like
from lifecycle.policy import Level, RuleSettings
from lifecycle.sentinel import LoadedRule

_BOUNDED: Final = "blast_radius_bounded"
_NO_TEXT: Final = (
    "its roots start at the folder of this file, and the path of that is no UTF-8 here: give the "
    "folder another name, or call Signoff in a UTF-8 locale, as in: LANG=C.UTF-8 signoff run"
)


def read_rules(file: Mapping[str, Any], problems: Problems) -> dict[str, RuleSettings]:
    """Return level and settings of each rule that has a readable entry."""
    section = section_of(file, "sentinel", problems)
    found = {name: _rule(name, value, problems) for name, value in section.items()}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(name: str, value: Any, problems: Problems) -> RuleSettings | None:
    parts = ("sentinel", name)
    if not isinstance(value, dict):
        problems.add(parts, f"{name} must be a mapping, like {{level: hard}}")
        return None
    level = value.get("level")
    if level is None:
        _note_no_level(name, value, problems)
        return None
    if level not in list(Level):
        words = f"{quoted(level)} is no level of {name}" + nearest(str(level), list(Level))
        problems.add((*parts, "level"), words)
        return None
    return RuleSettings(Level(level), {k: v for k, v in value.items() if k != "level"})


def _note_no_level(name: str, value: Mapping[str, Any], problems: Problems) -> None:
    """Note that a rule has no level, at the key that was meant to be one if there is one."""
    meant = most_like("level", value)
    parts = ("sentinel", name) if meant is None else ("sentinel", name, meant)
    hint = "" if meant in (None, "level") else '; did you mean "level"?'
    problems.add(parts, f"{name} needs a level: hard, soft or advisory{hint}")


def loaded_rules(
    rules: Mapping[str, RuleSettings], file: Mapping[str, Any], problems: Problems
) -> tuple[LoadedRule, ...]:
    """Return the loaded rules; if any problem keeps one from loading, note it and return none.

    The rules themselves say which of their settings are wrong, and which tools they name.
    """
    from sentinel_rules import RuleLoadError, load_rules

    if not _can_be_written(rules):
        problems.add(("sentinel", _BOUNDED), _NO_TEXT)
        return ()
    try:
        loaded = load_rules(rules)
        _check_names(loaded, file, problems)
    except RuleLoadError as error:
        for problem in error.problems:
            if problem.rule in rules or problem.rule not in _names_in(file, "sentinel"):
                problems.add(problem.path, problem.remedy)
        return ()
    return loaded


def _check_names(loaded: Iterable[LoadedRule], file: Mapping[str, Any], problems: Problems) -> None:
    """Note every tool and every source that a rule names and the file does not have."""
    from sentinel_rules import sources_named, tools_named

    for named, kind, section in (
        (tools_named(loaded), "tool", "tools"),
        (sources_named(loaded), "source", "sources"),
    ):
        known = _names_in(file, section)
        for rule, parts, name in named:
            if name not in known:
                words = f"{rule} names the {kind} {quoted(name)}, which is not under {section}"
                problems.add(parts, words + nearest(name, known))


def settled(rules: Mapping[str, RuleSettings], folder: Path) -> dict[str, RuleSettings]:
    """Return the rules as they are loaded: with roots relative to the config's folder made
    absolute.

    The policy's digest is taken of what was written, so that it does not depend on the folder.
    """
    bounded = rules.get(_BOUNDED)
    roots = bounded.settings.get("roots") if bounded else None
    if bounded is None or not isinstance(roots, dict):
        return dict(rules)
    whole = {tool: _whole(root, folder) for tool, root in roots.items()}
    return {**rules, _BOUNDED: replace(bounded, settings={**bounded.settings, "roots": whole})}


def _can_be_written(rules: Mapping[str, RuleSettings]) -> bool:
    """Return False if a root holds bytes of the folder's path that could not be read as text."""
    roots = rules[_BOUNDED].settings.get("roots") if _BOUNDED in rules else None
    try:
        for root in roots.values() if isinstance(roots, dict) else ():
            str(root).encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(root: Any, folder: Path) -> Any:
    if not isinstance(root, str) or not root or root.startswith(("/", "~")):
        return root
    return os.path.normpath(folder / root)


def _names_in(file: Mapping[str, Any], section: str) -> Collection[str]:
    written = file.get(section)
    return written if isinstance(written, dict) else ()
