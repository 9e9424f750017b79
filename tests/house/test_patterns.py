"""No pattern repeats a group possessively: Python before 3.11.5 loses its place there.

Where the body of `(?:…)*+` fails midway, the match goes on from where it failed (CPython's
gh-106052). Debian 12 has 3.11.2: the end of a private key stood unmasked there. An atomic group,
`(?>(?:…)*)`, says the same and is right in every version; `[…]*+` is right as well.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

PACKAGES = ("bot", "lifecycle", "sentinel_rules")
#: What a body may be for the simple repeat of a single character, which was always right.
SINGLE = {constants.LITERAL, constants.NOT_LITERAL, constants.IN, constants.ANY}


def patterns_in(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns that a module keeps under a name, in tuples and dictionaries too."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from patterns_in(each, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        yield from patterns_in(tuple(value.values()), depth + 1)


def every_pattern() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for package in map(import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                for name, value in vars(import_module(found.name)).items():
                    for pattern in patterns_in(value):
                        yield f"{found.name}.{name}", pattern


def repeats_a_group_possessively(tree: Any) -> bool:
    if isinstance(tree, (parser.SubPattern, list)):
        return any(map(repeats_a_group_possessively, tree))
    if not isinstance(tree, tuple):
        return False
    if tree and tree[0] is constants.POSSESSIVE_REPEAT:
        body = tree[1][2]
        if len(body) != 1 or body[0][0] not in SINGLE:
            return True
    return any(map(repeats_a_group_possessively, tree))


def test_no_pattern_repeats_a_group_possessively() -> None:
    found = list(every_pattern())
    odd = {
        name
        for name, pattern in found
        if repeats_a_group_possessively(parser.parse(pattern.pattern, pattern.flags))
    }

    assert len(found) > 200
    assert odd == set()


def test_such_a_repeat_is_known_wherever_it_stands() -> None:
    for odd in ("(?:ab?c)*+", "x(?P<n>(?:a|(?:bc){1,3}+))", "(a)?+", "(?=(?:ab)++)"):
        assert repeats_a_group_possessively(parser.parse(odd)), odd
    for plain in ("(?>(?:ab?c)*)", "[ab]*+", "a++", r"\w{2,}+"):
        assert not repeats_a_group_possessively(parser.parse(plain)), plain
