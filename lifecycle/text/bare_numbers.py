"""Find numbers in a list of payments that may be money although nothing calls them an amount.

The law: an object that has an amount answers for its own numbers, and a list named `items` or
`amounts` for those inside it. Of what is left, what the names say (`money_names`) decides where a
number counts as money (`Counts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

from lifecycle.paths import Parts
from lifecycle.text.money_names import (
    CURRENCIES,
    Says,
    has_amount,
    said_by,
    says_how_many,
    says_money,
    says_part_of_price,
    says_perhaps_price,
    says_price,
)


class Counts(Enum):
    """Where a bare number is money."""

    #: In any tool: its own name makes it a price.
    ALWAYS = auto()
    #: Where an amount or a currency stands in or around the list.
    BESIDE_MONEY = auto()
    #: Where the tool moves money.
    WHERE_PAID = auto()


_NUMBER: Final = re.compile(r"\s*[+\-(]?\W{0,3}\d[\d.,'\s_eExX]*\W{0,3}\s*")
_LONGEST_NUMBER: Final = 64
#: A price as people write it: `20000 USD`, `EUR 20.00`, `20k`.
_CODE: Final = f"(?i:{'|'.join(sorted(CURRENCIES))})"
_SAID: Final = re.compile(
    rf"(?:{_CODE}\W{{0,3}})?[+\-(]?\W{{0,3}}\d[\d.,'\s_]*+[kKmM]?\W{{0,3}}(?:{_CODE}\W{{0,3}})?"
)


def holds_money(value: Any) -> bool:
    """Return True if a field below `value`, at any depth, speaks of an amount or a currency."""
    if isinstance(value, Mapping):
        return any(says_money(key) or holds_money(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(map(holds_money, value))


def bare_numbers(items: Any, parts: Parts) -> Iterator[tuple[Parts, Counts]]:
    """Yield the places of the bare numbers in a list, each with where it counts."""
    for index, item in enumerate(items):
        if isinstance(item, (list, tuple)):
            yield from bare_numbers(item, (*parts, index))
        elif isinstance(item, Mapping):
            yield from _in_object(item, (*parts, index))
        elif _is_number(item):
            yield (*parts, index), Counts.BESIDE_MONEY


def _in_object(item: Mapping[str, Any], parts: Parts) -> Iterator[tuple[Parts, Counts]]:
    if has_amount(item):
        return
    yield from _prices_in(item, parts, None)
    for key, value in item.items():
        if says_perhaps_price(key) and _is_number(value):
            yield (*parts, key), Counts.BESIDE_MONEY


def _prices_in(value: Any, parts: Parts, told: Counts | None) -> Iterator[tuple[Parts, Counts]]:
    """Yield the prices at any depth; `told` is what the name above says, None if nothing."""
    if isinstance(value, Mapping):
        if not has_amount(value):
            for key, item in value.items():
                if not (isinstance(item, (list, tuple)) and said_by(key) is Says.LIST):
                    yield from _prices_in(item, (*parts, key), _told_by(key, told))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _prices_in(item, (*parts, index), told)
    elif told is not None:
        yield from _price(value, parts, told)


def _price(value: Any, parts: Parts, told: Counts) -> Iterator[tuple[Parts, Counts]]:
    """Yield a value that is a price; a text with one, `5 USD`, is money only where it is paid."""
    if _is_number(value):
        yield parts, told
    elif isinstance(value, str) and _SAID.fullmatch(value.strip()):
        yield parts, Counts.WHERE_PAID


def _told_by(name: str, around: Counts | None) -> Counts | None:
    """Return what a name says inside one that said `around`."""
    if says_price(name) or (around is Counts.ALWAYS and says_part_of_price(name)):
        return Counts.ALWAYS
    return Counts.BESIDE_MONEY if says_how_many(name) else None


def unnamed_numbers(items: Any, parts: Parts) -> Iterator[Parts]:
    """Yield the places of all numbers in a list named `amounts` but for objects that say which of
    their numbers is the amount: numbers in fields of any name, and texts with one (`5000 USD`).

    They count where the tool moves money.
    """
    for index, item in enumerate(items):
        if isinstance(item, (list, tuple)):
            yield from unnamed_numbers(item, (*parts, index))
        elif isinstance(item, str) and any(map(str.isnumeric, item)):
            yield (*parts, index)
        else:
            yield from _unnamed_in(item, (*parts, index))


def _unnamed_in(value: Any, parts: Parts) -> Iterator[Parts]:
    if isinstance(value, Mapping):
        if not has_amount(value):
            for key, item in value.items():
                yield from _unnamed_in(item, (*parts, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _unnamed_in(item, (*parts, index))
    elif _is_number(value):
        yield parts


def _is_number(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) <= _LONGEST_NUMBER and _NUMBER.fullmatch(item) is not None
    return isinstance(item, (int, float)) and not isinstance(item, bool)
