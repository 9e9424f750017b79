"""Find fields that a list names, at any depth of an object and however their names are spelt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from lifecycle.paths import Parts, containers
from lifecycle.text.folding import folded

_Steps = tuple[str, ...]

#: What stands between the names of a path in one name: `user.role`, `user[role]`, `/user/role`.
_BETWEEN: Final = re.compile(r"[^\w\s-]+")
_WITHIN: Final = re.compile(r"[\s_-]+")
#: The number of an item between them: `users[0].role`, `/users/0/role`.
_NUMBER: Final = re.compile(r"(?:(?<=[^\w\s-])|\A)\s*-?\d+\s*(?=[^\w\s-]|\Z)")
#: Of a longer path only its end is looked for. A document may consist of points, and nobody else is
#: served while it is read.
_MOST_STEPS: Final = 8
#: Nobody reads a longer name of a field; what it means is not looked into.
_LONGEST_NAME: Final = 400


def fields_named(fields: Mapping[str, Any], names: Iterable[str]) -> Iterator[Parts]:
    """Yield the places of the fields at any depth that one of the names means.

    A name means a field and what is within it. `role` is also `Role`, `user.role`, `role.name` and
    the `role` of an object `user`; `user.role` is also that `role`, however either is written.
    `users.role` is also the `role` of each item of `users`, in a list or by its number.
    """
    wanted = {steps[-_MOST_STEPS:] for steps in map(_steps_of, names) if steps}
    lengths = sorted({len(steps) for steps in wanted})
    for parts, container in containers(dict(fields)):
        if not isinstance(container, dict):
            continue
        above = [str(part) for part in parts[-2 * _MOST_STEPS :]]
        arounds = [(read, _joined(map(read, above))) for read in (_steps_of, _unnumbered)]
        for name in container:
            ways = ((around, around + read(name)) for read, around in arounds)
            if len(name) > _LONGEST_NAME or any(
                _leads_by(way, len(around), wanted, lengths) for around, way in ways
            ):
                yield (*parts, name)


def _leads_by(way: _Steps, around: int, wanted: set[_Steps], lengths: list[int]) -> bool:
    """Return True if some steps in a row are wanted that end behind the first `around` ones."""
    return any(
        way[end - length : end] in wanted
        for end in range(around + 1, len(way) + 1)
        for length in lengths
        if length <= end
    )


def _joined(read: Iterable[_Steps]) -> _Steps:
    steps = tuple(step for steps in read for step in steps)
    return steps[-_MOST_STEPS:]


def _steps_of(name: str) -> _Steps:
    """Return the names that a name consists of, each in the form that `user_role`, `userRole` and
    `User-Role` share; a name of signs alone is one. Of a very long name only the end is read."""
    return _read(name[-_LONGEST_NAME:])


def _unnumbered(name: str) -> _Steps:
    """Return the names that a name consists of, without numbers of items; none for such a number.
    Of a very long name only the end is read, and remembered."""
    return _read_unnumbered(name[-_LONGEST_NAME:])


@lru_cache(maxsize=4096)
def _read_unnumbered(name: str) -> _Steps:
    # Numbers are looked for before the name is folded, for that makes letters of digits.
    shown = unicodedata.normalize("NFKC", name)
    left = _NUMBER.sub("", shown)
    return _steps_of(left) if left == shown or re.search(r"\w", left) else ()


@lru_cache(maxsize=4096)
def _read(name: str) -> _Steps:
    shown = folded(name)
    steps = (_WITHIN.sub("", step) for step in _BETWEEN.split(shown))
    return tuple(filter(None, steps)) or (shown,)
