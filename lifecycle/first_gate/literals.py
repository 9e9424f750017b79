"""Provide the JSON parser's hooks for numbers and objects: no number is rounded, no field is lost.

`reading.py` gives them to the parser.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from enum import Enum
from math import isinf
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.paths import RepeatedKeys

_LARGEST: Final = 2**53 - 1
_LONGEST_INTEGER: Final = len(str(-_LARGEST))
#: A decimal of up to 15 digits survives a double; these and a point or an exponent need 16.
_SURELY_EXACT: Final = 16


class Flaw(Enum):
    """A flaw inside a document that parses; a member stands in the place of a bad number."""

    REPEATED = (
        "duplicate_key",
        "every key once",
        "the same key more than once",
        "Keep one of the fields of this name: readers disagree on which one counts.",
    )
    NON_FINITE = (
        "non_finite_number",
        "a finite number",
        "NaN, an infinity or an overflow",
        "Write a finite number, or leave the field out.",
    )
    TOO_LARGE = (
        "out_of_range",
        "a number within ±9007199254740991",
        "a larger number",
        "Send a number within ±9007199254740991, or write the value as a string.",
    )
    TOO_PRECISE = (
        "out_of_range",
        "a number that a 64-bit float holds without rounding",
        "a number with more digits, or closer to zero",
        "Send fewer digits, or write the value as a string: nothing is rounded here.",
    )
    HALF_CHARACTER = (
        "invalid_unicode",
        "whole characters",
        "half of a surrogate pair",
        "Send both halves of the surrogate pair, or the character itself.",
    )

    def fault(self, path: str) -> Fault:
        """Return the fault for a person; it names the place and the kind, never the value."""
        code, required, actual, suggestion = self.value
        return Fault(code, path, required, actual, suggestion)


class Literals:
    """The parser's hooks for one document; `first` is the first flaw they met."""

    def __init__(self) -> None:
        self.first: Flaw | None = None

    def integer(self, literal: str) -> int | Flaw:
        """Return an integer within ±(2^53-1), else a flaw; the text of a longer one is not
        converted."""
        if len(literal) <= _LONGEST_INTEGER and -_LARGEST <= (value := int(literal)) <= _LARGEST:
            return value
        return self._flaw(Flaw.TOO_LARGE)

    def decimal(self, literal: str) -> float | Flaw:
        """Return a number with a point or an exponent, if a double gives the same number back; else
        a flaw."""
        value = float(literal)
        if len(literal) <= _SURELY_EXACT and sys.float_info.min <= abs(value) <= _LARGEST:
            return value
        if -_LARGEST <= value <= _LARGEST:
            return value if _is_exact(literal, value) else self._flaw(Flaw.TOO_PRECISE)
        return self._flaw(Flaw.NON_FINITE if isinf(value) else Flaw.TOO_LARGE)

    def constant(self, _literal: str) -> Flaw:
        """Return a flaw for NaN, Infinity and -Infinity."""
        return self._flaw(Flaw.NON_FINITE)

    def fields(self, pairs: list[tuple[str, Any]]) -> dict[str, Any] | RepeatedKeys:
        """Return an object as a dict; if unescaped keys repeat, note a flaw and keep all pairs."""
        fields = dict(pairs)
        if len(fields) == len(pairs):
            return fields
        self._flaw(Flaw.REPEATED)
        return RepeatedKeys(pairs)

    def _flaw(self, flaw: Flaw) -> Flaw:
        self.first = self.first or flaw
        return flaw


def _is_exact(literal: str, value: float) -> bool:
    """Return True if literal and double are the same decimal number.

    A number below 2.2e-308 (a subnormal) is never exact, zero excepted.
    """
    if abs(value) < sys.float_info.min:
        return value == 0 and not literal.lower().partition("e")[0].strip("-0.")
    return Decimal(literal) == Decimal(repr(value))
