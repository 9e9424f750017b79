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
    price cost sum fee charge payment refund cents prices costs sums fees
    """.split()
)
#: So is one where this is one of the last two words, `total_amount`, `amount_usd`, unless the last
#: one is a measure: `amount_kg`, `amount_percent`.
_SAY_AMOUNT: Final = frozenset({"amount", "amounts"})
_MEASURES: Final = frozenset(
    "g mg kg lb lbs oz ml cl dl mm cm km pct percent percentage days hours minutes".split()
)
#: A price in one of these may be called by it: `price_usd`, `total_eur`.
_CURRENCIES: Final = frozenset(
    "usd eur gbp chf jpy cny inr brl cad aud nzd sek nok dkk pln czk huf try mxn zar sgd hkd krw "
    "dollar dollars euro euros".split()
)
#: Prices only if there is money about: a setting has a value, too, and so has a measurement, and
#: three refunds may be how many there were.
_PERHAPS_PRICES: Final = frozenset({"total", "value"})
_HOW_MANY: Final = frozenset({"charges", "payments", "refunds"})
#: Ends of a word that is several words in one, as in `UNITPRICE`.
_RUN_TOGETHER: Final = ("price", "prices", "amount", "amounts")
_INSIDE: Final = _PERHAPS_PRICES | _CURRENCIES
_BEFORE_CURRENCY: Final = _PRICES | _PERHAPS_PRICES | _HOW_MANY | _SAY_AMOUNT
#: Of these the list that stands there is read by itself.
_READ_BY_ITSELF: Final = frozenset({("items",), ("amounts",)})
#: A price as people write it, which is money to a tool that pays: `20000 USD`, `EUR 20.00`, `20k`.
_CODE: Final = f"(?i:{'|'.join(sorted(_CURRENCIES))})"
_SAID: Final = re.compile(
    rf"(?:{_CODE}\W{{0,3}})?[+\-(]?\W{{0,3}}\d[\d.,'\s_]*+[kKmM]?\W{{0,3}}(?:{_CODE}\W{{0,3}})?"
)
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


def bare_numbers(items: Any, parts: Parts) -> Iterator[tuple[Parts, bool | None]]:
    """Yield the places of numbers in a list that nothing calls an amount, each with a flag.

    The flag is True if the number's own name makes it a price. Any other number is money only if
    something else says so; None is that of a text with a price (`5 USD`), which is money only to a
    tool that pays.
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


def _in_object(item: Mapping[str, Any], parts: Parts) -> Iterator[tuple[Parts, bool | None]]:
    """Yield numbers named like a price, unless an amount stands beside them."""
    if _has_amount(map(readings_of, item)):
        return
    yield from _prices_in(item, parts, None)
    for key, value in item.items():
        if ends_in(key, _PERHAPS_PRICES) and _is_number(value):
            yield (*parts, key), False


def _prices_in(value: Any, parts: Parts, told: bool | None) -> Iterator[tuple[Parts, bool | None]]:
    """Yield the places of prices at any depth, each with a flag as `bare_numbers` does.

    `told` is what the name above `value` says: True that it is a price, False that it may be one,
    None neither.
    """
    if isinstance(value, Mapping):
        if not _has_amount(map(readings_of, value)):
            for key, item in value.items():
                if not _is_read_by_itself(key, item):
                    yield from _prices_in(item, (*parts, key), _told_by(key, told))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _prices_in(item, (*parts, index), told)
    elif told is not None:
        yield from _price(value, parts, told)


def _price(value: Any, parts: Parts, told: bool) -> Iterator[tuple[Parts, bool | None]]:
    if _is_number(value):
        yield parts, told
    elif _says_number(value):
        yield parts, None


def _is_read_by_itself(name: str, value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not _READ_BY_ITSELF.isdisjoint(readings_of(name))


def _told_by(name: str, around: bool | None) -> bool | None:
    """Return what a name inside one that told `around` says: `{"price": {"value": 5}}`."""
    if any(map(_say_price, readings_of(name))) or (around and ends_in(name, _INSIDE)):
        return True
    return False if ends_in(name, _HOW_MANY) else None


def _say_price(words: Words) -> bool:
    if not words:
        return False
    if words[-1] in _CURRENCIES:
        return not _BEFORE_CURRENCY.isdisjoint(words[:-1])
    is_amount = not _SAY_AMOUNT.isdisjoint(words[-2:]) and words[-1] not in _MEASURES
    return is_amount or words[-1] in _PRICES or words[-1].endswith(_RUN_TOGETHER)


def _is_number(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) <= _LONGEST_NUMBER and _NUMBER.fullmatch(item) is not None
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def _says_number(item: Any) -> bool:
    return isinstance(item, str) and _SAID.fullmatch(item.strip()) is not None
