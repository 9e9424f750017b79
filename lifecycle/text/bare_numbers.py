"""Find numbers in a list of items that may be money although nothing calls them an amount."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lifecycle.paths import Parts
from lifecycle.text.field_names import Words, ends_in, readings_of

_NUMBER: Final = re.compile(r"\s*[+\-(]?\W{0,3}\d[\d.,'\s_eExX]*\W{0,3}\s*")
_LONGEST_NUMBER: Final = 64
#: A number in one of these fields is a price, wherever it stands.
_PRICES: Final = frozenset(
    """
    price cost sum fee charge payment refund cents
    prices costs sums fees charges payments refunds
    """.split()
)
#: So is one where this is one of the last two words: `total_amount`, `amount_usd`.
_SAY_AMOUNT: Final = frozenset({"amount", "amounts"})
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
    """Yield the places of all numbers in a list named `amounts` but for objects that say which of
    their numbers is the amount: numbers in fields of any name, and texts with one (`5000 USD`)."""
    for index, item in enumerate(items):
        if isinstance(item, (list, tuple)):
            yield from unnamed_numbers(item, (*parts, index))
        elif isinstance(item, str) and any(map(str.isnumeric, item)):
            yield (*parts, index)
        else:
            yield from _unnamed_in(item, (*parts, index))


def _unnamed_in(value: Any, parts: Parts) -> Iterator[Parts]:
    if isinstance(value, Mapping):
        if not _has_amount(map(readings_of, value)):
            for key, item in value.items():
                yield from _unnamed_in(item, (*parts, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _unnamed_in(item, (*parts, index))
    elif _is_number(value):
        yield parts


def _has_amount(names: Iterable[tuple[Words, ...]]) -> bool:
    return any(words in _AMOUNTS for readings in names for words in readings)


def _in_object(item: Mapping[str, Any], parts: Parts) -> Iterator[tuple[Parts, bool]]:
    """Yield numbers named like a price, unless an amount stands beside them."""
    if _has_amount(map(readings_of, item)):
        return
    yield from ((place, True) for place in _prices_in(item, parts))
    for key, value in item.items():
        if ends_in(key, _PERHAPS_PRICES) and _is_number(value):
            yield (*parts, key), False


def _prices_in(value: Any, parts: Parts, *, named: bool = False) -> Iterator[Parts]:
    """Yield the places of prices at any depth; `named` if the name above `value` says so."""
    if isinstance(value, Mapping):
        if not _has_amount(map(readings_of, value)):
            for key, item in value.items():
                yield from _prices_in(item, (*parts, key), named=_says_price(key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _prices_in(item, (*parts, index), named=named)
    elif named and _is_number(value):
        yield parts


def _says_price(name: str) -> bool:
    return ends_in(name, _PRICES) or any(
        not _SAY_AMOUNT.isdisjoint(words[-2:]) for words in readings_of(name)
    )


def _is_number(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) <= _LONGEST_NUMBER and _NUMBER.fullmatch(item) is not None
    return isinstance(item, (int, float)) and not isinstance(item, bool)
