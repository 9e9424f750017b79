"""Judges `multipleOf` of a tool's JSON Schema by the numbers as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from jsonschema import ValidationError as Mismatch


def multiple_of(v: Any, step: float, value: Any, _schema: Any) -> Iterator[Mismatch]:
    """Yield a mismatch if a number is no multiple of `step`.

    The library divides binary fractions: to it 19.99 is no multiple of 0.01, so that an agent could
    not propose that amount at all.
    """
    if v.is_type(value, "number") and _written(value) % _written(step):
        yield Mismatch("is no multiple")


def _written(number: float) -> Fraction:
    """Return the very value of the shortest decimal form, in which a number is sent and shown."""
    return Fraction(repr(number))
