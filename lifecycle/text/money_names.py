"""Say what the name of a field says about money.

The law: four names say what the rule reads (`Says`): an amount, one in cents, a currency, a list of
payments. Other names may say that a number is a price, by their last word (`unit_price`), by
`amount` as one of the last two (`amount_due`), or by a currency behind one of these (`price_usd`);
a few say it only where money is about (`total`, `refunds`). A measure is none: `amount_kg`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from lifecycle.text.field_names import Words, ends_in, readings_of


class Says(Enum):
    """What the name of a field says; the values are the words of such names."""

    AMOUNT = (("amount",),)
    MINOR = (("amount", "minor"), ("amountminor",))
    CURRENCY = (("currency",),)
    LIST = (("items",), ("amounts",))


_SAYS: Final = {words: said for said in Says for words in said.value}
_OF_MONEY: Final = frozenset({"amount", "amounts", "currency"})

#: A number in one of these fields is a price, wherever it stands.
_PRICES: Final = frozenset(
    "price cost sum fee charge payment refund cents prices costs sums fees".split()
)
#: So is one where this is one of the last two words, unless the last one is a measure.
_SAY_AMOUNT: Final = frozenset({"amount", "amounts"})
_MEASURES: Final = frozenset(
    "g mg kg lb lbs oz ml cl dl mm cm km pct percent percentage days hours minutes".split()
)
#: A price in one of these may be called by it: `price_usd`, `total_eur`.
CURRENCIES: Final = frozenset(
    "usd eur gbp chf jpy cny inr brl cad aud nzd sek nok dkk pln czk huf try mxn zar sgd hkd krw "
    "dollar dollars euro euros".split()
)
#: Prices only if there is money about: a setting has a value, too, and so has a measurement, and
#: three refunds may be how many there were.
_PERHAPS_PRICES: Final = frozenset({"total", "value"})
_HOW_MANY: Final = frozenset({"charges", "payments", "refunds"})
#: Ends of a word that is several words in one, as in `UNITPRICE`.
_RUN_TOGETHER: Final = ("price", "prices", "amount", "amounts")
_BEFORE_CURRENCY: Final = _PRICES | _PERHAPS_PRICES | _HOW_MANY | _SAY_AMOUNT


def said_by(name: str) -> Says | None:
    """Return what a name says, None if that is nothing which the rule reads."""
    return next((_SAYS[words] for words in readings_of(name) if words in _SAYS), None)


def has_amount(names: Iterable[str]) -> bool:
    """Return True if one of the names is that of an amount, which is read by itself.

    `amount_cents` is a number like any other, which nothing adds up.
    """
    return any(said_by(name) in (Says.AMOUNT, Says.MINOR) for name in names)


def says_money(name: str) -> bool:
    """Return True if a field's name speaks of an amount or a currency: `total_amount`."""
    return any(not _OF_MONEY.isdisjoint(words) for words in readings_of(name))


def says_price(name: str) -> bool:
    """Return True if a number of this name is a price, wherever it stands."""
    return any(map(_say_price, readings_of(name)))


def _say_price(words: Words) -> bool:
    if not words:
        return False
    if words[-1] in CURRENCIES:
        return not _BEFORE_CURRENCY.isdisjoint(words[:-1])
    is_amount = not _SAY_AMOUNT.isdisjoint(words[-2:]) and words[-1] not in _MEASURES
    return is_amount or words[-1] in _PRICES or words[-1].endswith(_RUN_TOGETHER)


def says_part_of_price(name: str) -> bool:
    """Return True if a number of this name is a price inside one: `{"price": {"value": 5}}`."""
    return ends_in(name, _PERHAPS_PRICES | CURRENCIES)


def says_perhaps_price(name: str) -> bool:
    """Return True if a number of this name in an item of a list is a price where money is about."""
    return ends_in(name, _PERHAPS_PRICES)


def says_how_many(name: str) -> bool:
    """Return True if a number of this name is a price where money is about, and else a count."""
    return ends_in(name, _HOW_MANY)
