"""Whether what a row holds is of the kinds that its record declares.

SQLite takes any value in any column, and whoever writes there by hand need not know what stands in
it. A time that is text, or a digest that is a number, would be met where it is used: there it stops
whatever is done for all the others in the same round, or a start. Met where it is read it is one
row that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from lifecycle.proposal import Cause, Execution, Identity, KeptStop
from lifecycle.verdict import Finding, RuleResult

Part = TypeVar("Part", Execution, KeptStop, Cause, Identity, RuleResult, Finding)
#: In which class JSON and SQLite give back what is declared so.
_READ_AS: Final = {Mapping: dict, Any: object}
#: So many shapes are remembered of one record: there are as many as its empty fields allow.
_MOST_SHAPES: Final = 1_024


class Kinds:
    """The fields of a dataclass, each with the classes that its value may be of.

    A shape, the classes of all fields, that was looked at once is known: rows are read often.
    """

    def __init__(self, record: type[Any]) -> None:
        """Learn what the fields of `record` are declared as."""
        hints = get_type_hints(record)
        self._classes = {each.name: _classes(hints[each.name]) for each in fields(record)}
        self._known: set[tuple[type, ...]] = set()
        self._of_mapping = itemgetter(*self._classes)
        self._of_record = attrgetter(*self._classes)

    def check(self, held: Mapping[str, Any]) -> None:
        """Raise TypeError for the first value of another class; a boolean is no number."""
        self._look(held, self._of_mapping)

    def check_record(self, record: Any) -> None:
        """Raise TypeError as `check`, for the fields of a record."""
        self._look(record, self._of_record)

    def _look(self, held: Any, values_of: Callable[[Any], tuple[Any, ...]]) -> None:
        shape = tuple(map(type, values_of(held)))
        if shape in self._known:
            return
        for (name, classes), kind in zip(self._classes.items(), shape, strict=True):
            if kind not in classes:
                raise TypeError(f"its {name} is a {kind.__name__}")
        if len(self._known) < _MOST_SHAPES:
            self._known.add(shape)


def of_its_kinds(part: Part) -> Part:
    """Return a part of a row; raises TypeError where it holds what none can."""
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
