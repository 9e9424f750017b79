"""Find numbers in a list of items that may be money although nothing calls them an amount."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lifecycle.paths import Parts
from lifecycle.text.field_names import Words, readings_of

_NUMBER: Final = re.compile(r"\s*[+\-(]?\W{0,3}\d[\d.,'\s_eExX]*\W{0,3}\s*")
_LONGEST_NUMBER: Final = 64
#: A number in one of these fields is a price, wherever it stands.
_PRICES: Final = frozenset("price cost sum fee charge payment refund amounts".split())
#: Prices only if there is money about: a setting has a value, too, and so has a measurement.
_PERHAPS_PRICES: Final = frozenset({"total", "value"})
#: The names of what is an amount: `amount_cents` is a number like any other, which nothing adds up.
_AMOUNTS: Final = frozenset({("amount",), ("amount", "minor"), ("amountminor",)})
_OF_MONEY: Final = frozenset({"amount", "amounts", "currency"})


def says_money(name: str) -> bool:
    """Return True if a field's name speaks of an amount or a currency: `total_amount`."""
    return any(not _OF_MONEY.isdisjoint(words) for words in readings_of(name))


def holds_money(value: Any) -> bool:
    """Return True if a field below `value`, at any depth, speaks of an amount or a currency."""
    if isinstance(value, Mapping):
        return any(says_money(key) or holds_money(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(map(holds_money, value))


def bare_numbers(items: Any, parts: Parts) -> Iterator[tuple[Parts, bool]]:
    """Yield the places of numbers in a list that nothing calls an amount, each with a flag.

    The flag is True if the number's own name makes it a price. Any other number is money only if
    something else says so.
    """
    for index, item in enumerate(items):
        if isinstance(item, (list, tuple)):
            yield from bare_numbers(item, (*parts, index))
        elif isinstance(item, Mapping):
            yield from _in_object(item, (*parts, index))
        elif _is_number(item):
            yield (*parts, index), False


def unnamed_numbers(items: Any, parts: Parts) -> Iterator[Parts]:
    """Yield the places of all numbers in fields of objects in a list named `amounts`, whatever
    their own names, but for objects that say which of their numbers is the amount."""
    for index, item in enumerate(items):
        if isinstance(item, (list, tuple)):
            yield from unnamed_numbers(item, (*parts, index))
        elif isinstance(item, Mapping):
            yield from _unnamed_in(item, (*parts, index))


def _unnamed_in(item: Mapping[str, Any], parts: Parts) -> Iterator[Parts]:
    if _has_amount(map(readings_of, item)):
        return
    for key, value in item.items():
        if _is_number(value):
            yield (*parts, key)
        elif isinstance(value, Mapping):
            yield from _unnamed_in(value, (*parts, key))
        elif isinstance(value, (list, tuple)):
            yield from ((*parts, key, at) for at, each in enumerate(value) if _is_number(each))
            yield from unnamed_numbers(value, (*parts, key))


def _has_amount(names: Iterable[tuple[Words, ...]]) -> bool:
    return any(words in _AMOUNTS for readings in names for words in readings)


def _in_object(item: Mapping[str, Any], parts: Parts) -> Iterator[tuple[Parts, bool]]:
    """Yield numbers named like a price, unless an amount stands beside them."""
    names = {key: readings_of(key) for key in item}
    if _has_amount(names.values()):
        return
    for key, readings in names.items():
        is_price = _ends_in(readings, _PRICES)
        if (is_price or _ends_in(readings, _PERHAPS_PRICES)) and _is_number(item[key]):
            yield (*parts, key), is_price


def _ends_in(readings: tuple[Words, ...], names: frozenset[str]) -> bool:
    return any(words[-1] in names for words in readings if words)


def _is_number(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) <= _LONGEST_NUMBER and _NUMBER.fullmatch(item) is not None
    return isinstance(item, (int, float)) and not isinstance(item, bool)
