"""Checks that the values in a row have the types that the fields of its record declare.

SQLite accepts any value in any column, so a person who edits the file may leave a time that is text
or a digest that is a number. Without this check it would raise only where it is used, and stop a
start or the work on all other proposals in that round. With it, one row cannot be read. The same
holds for a number that no count and no time can be: a deadline in the year 36,000 cannot be
written, and behind the largest version no other follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from lifecycle.moment import LAST_MS, on_calendar
from lifecycle.proposal import Cause, Execution, Identity, KeptStop
from lifecycle.verdict import Finding, RuleResult

Part = TypeVar("Part", Execution, KeptStop, Cause, Identity, RuleResult, Finding)
#: The class in which JSON or SQLite return a value of these declared types.
_READ_AS: Final = {Mapping: dict, Any: object}
#: The most shapes remembered for one record; each combination of empty fields makes one.
_MOST_SHAPES: Final = 1_024


class Kinds:
    """Checks the fields of one dataclass against the classes that their values may have, and that
    numbers lie between 0 and the last ms of the calendar, as all counts and times do.

    The shape of a row is the tuple of the classes of its values. Shapes that passed are remembered,
    because rows are read often. The threads of all connections share one instance.
    """

    def __init__(self, record: type[Any]) -> None:
        """Read the declared types of the fields of `record`."""
        hints = get_type_hints(record)
        self._classes = {each.name: _classes(hints[each.name]) for each in fields(record)}
        self._known: set[tuple[type, ...]] = set()
        self._of_mapping = itemgetter(*self._classes)
        self._of_record = attrgetter(*self._classes)
        self._numbers = tuple(
            (place, name)
            for place, (name, classes) in enumerate(self._classes.items())
            if int in classes
        )

    def check(self, held: Mapping[str, Any]) -> None:
        """Raise TypeError for the first value of a wrong class, or a number out of range; a boolean
        is not a number."""
        self._look(held, self._of_mapping)

    def check_record(self, record: Any) -> None:
        """Raise TypeError as `check` does, for the fields of a record object."""
        self._look(record, self._of_record)

    def _look(self, held: Any, values_of: Callable[[Any], tuple[Any, ...]]) -> None:
        values = values_of(held)
        shape = tuple(map(type, values))
        if shape not in self._known:
            self._learn(shape)
        for place, name in self._numbers:
            number = values[place]
            if number is not None and not 0 <= number <= LAST_MS:
                raise TypeError(f"its {name} is {number}, which nothing can be reckoned with")

    def _learn(self, shape: tuple[type, ...]) -> None:
        for (name, classes), kind in zip(self._classes.items(), shape, strict=True):
            if kind not in classes:
                raise TypeError(f"its {name} is a {kind.__name__}")
        if len(self._known) < _MOST_SHAPES:
            self._known.add(shape)


def of_its_kinds(part: Part) -> Part:
    """Return a part of a row unchanged; raises TypeError if one of its values has a wrong class."""
    _WITHIN[type(part)].check_record(part)
    return part


def _classes(hint: Any) -> frozenset[type]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return frozenset().union(*map(_classes, get_args(hint)))
    if hint is None:
        return frozenset({NoneType})
    plain = origin or hint
    return frozenset({_READ_AS.get(plain, plain)})


_WITHIN: Final[Mapping[type[Any], Kinds]] = {
    part: Kinds(part) for part in (Execution, KeptStop, Cause, Identity, RuleResult, Finding)
}


def times_of_a_blocked(values: Mapping[str, Any]) -> dict[str, int]:
    """Return its times on the calendar: older versions stored them as its document says, and nobody
    asks of a blocked document whether they can be meant."""
    named = {name: values.get(name) for name in ("deadline_ms", "valid_from_ms")}
    return {name: on_calendar(at_ms) for name, at_ms in named.items() if type(at_ms) is int}
