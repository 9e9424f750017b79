"""Read the amounts of money in a document: exact, in one spelling, with the nearest currency."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from lifecycle.paths import Parts
from lifecycle.records import Money
from lifecycle.text.bare_numbers import Counts, bare_numbers, holds_money, unnamed_numbers
from lifecycle.text.money_names import Says, said_by, says_money

#: ISO 4217: the number of decimals of currencies that do not have two.
_DECIMALS: Final = (
    dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0)
    | dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)
    | dict.fromkeys("CLF UYW".split(), 4)
)
_USUAL_DECIMALS: Final = 2
#: More digits than all money has; few enough for sums that stay exact in 28 digits.
_MOST_DIGITS: Final = 18
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_WHOLE: Final = rf"(?:0|[1-9][0-9]{{0,{_MOST_DIGITS - 1}}})"
#: In place of a currency: `_DISPUTED` if two fields of one object name different ones, `_INVALID`
#: if what stands there is no currency.
_DISPUTED: Final = "?"
_INVALID: Final = ""

AMBIGUOUS: Final = "ambiguous_amount"
NOT_POSITIVE: Final = "amount_not_positive"
MISSING: Final = "amount_missing"

Totals = dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class Amount:
    """One amount as it was written: its value, or the code of what is wrong with it.

    `currency` is None if no valid one stands in the object or around it.
    """

    parts: Parts
    currency: str | None
    value: Decimal | None = None
    flaw: str | None = None


@dataclass(slots=True)
class AmountsRead:
    """All that a document says about money.

    - `lists`: the sums of each list by currency
    - `total`: what all amounts come to
    - `bare`: prices, and numbers in a list named items or amounts that do not say that they are
      amounts, where an amount or a currency stands in or around that list
    - `loose`: the other numbers in such a list, which are money only to a tool that moves money;
      in one named amounts those are texts with a number, and all numbers in objects that have no
      amount
    """

    amounts: list[Amount] = field(default_factory=list)
    lists: list[tuple[Parts, Totals]] = field(default_factory=list)
    bare: list[Parts] = field(default_factory=list)
    loose: list[Parts] = field(default_factory=list)
    total: Totals = field(default_factory=dict)


def decimals_of(currency: str) -> int:
    """Return how many decimals the currency has: USD 2, JPY 0, KWD 3."""
    return _DECIMALS.get(currency, _USUAL_DECIMALS)


def is_currency(value: object) -> bool:
    """Return True if this is written like an ISO 4217 code: three capital letters."""
    return isinstance(value, str) and _CURRENCY.fullmatch(value) is not None


def value_of(text: object, currency: str) -> Decimal | None:
    """Return the value of an amount in its only legal spelling, None for any other spelling.

    That is ASCII digits, no sign, no leading zero, and no point or exactly the currency's decimals.
    """
    decimals = decimals_of(currency)
    point = rf"(?:\.[0-9]{{{decimals}}})?" if decimals else ""
    if isinstance(text, str) and re.fullmatch(_WHOLE + point, text):
        return Decimal(text)
    return None


def amounts_of(
    parameters: Mapping[str, Any], constraints: Mapping[str, Any] | None = None
) -> tuple[Money, ...]:
    """Return the sums of the amounts, one for each currency; amounts that no rule would pass are
    left out.

    An amount that is exactly the sum of a list beside it is that list's total and counts once.
    """
    total = read_amounts(parameters, constraints).total
    return tuple(Money(currency, total[currency]) for currency in sorted(total))


def read_amounts(
    parameters: Mapping[str, Any], constraints: Mapping[str, Any] | None = None
) -> AmountsRead:
    """Read every amount in the parameters and in the target's constraints, good and bad.

    A tool gets both. Constraints with the same sums as the parameters repeat them, and do not
    count.
    """
    read = AmountsRead()
    read.total = _walk(parameters, ("parameters",), None, read)
    if constraints:
        beside = _walk(constraints, ("target", "constraints"), None, read)
        if beside != read.total:
            _add(read.total, beside)
    bare = set(read.bare)
    read.loose = [each for each in dict.fromkeys(read.loose) if each not in bare]
    return read


def _walk(value: Any, parts: Parts, currency: str | None, read: AmountsRead) -> Totals:
    """Return the sums at and below `value`; add what is found to `read`."""
    if isinstance(value, Mapping):
        return _walk_object(value, parts, currency, read)
    if not isinstance(value, (list, tuple)):
        return {}
    totals: Totals = {}
    for index, item in enumerate(value):
        _add(totals, _walk(item, (*parts, index), currency, read))
    if totals:
        read.lists.append((parts, totals))
    return totals


def _walk_object(
    value: Mapping[str, Any], parts: Parts, around: str | None, read: AmountsRead
) -> Totals:
    found, currency = own_amounts(value, around, parts)
    read.amounts += found
    own = _totals(found)
    rest: Totals = {}
    totalled = False  # an amount is the total of one list, not of each that comes to the same
    for key, item in value.items():
        is_list = isinstance(item, (list, tuple))
        if is_list and said_by(key) is Says.LIST:
            _read_bare(item, (*parts, key), _is_of_money(value, key, currency), read)
            if says_money(key):
                read.loose += unnamed_numbers(item, (*parts, key))
        below = _walk(item, (*parts, key), currency, read)
        if below and below == own and not totalled and is_list:
            totalled = True
        else:
            _add(rest, below)
    _add(own, rest)
    return own


def _is_of_money(value: Mapping[str, Any], key: str, currency: str | None) -> bool:
    """Return True if an amount or a currency stands in or around the list at `key`."""
    return currency is not None or any(map(says_money, value)) or holds_money(value[key])


def _read_bare(items: Any, parts: Parts, is_of_money: bool, read: AmountsRead) -> None:
    for place, counts in bare_numbers(items, parts):
        is_bare = counts is Counts.ALWAYS or (counts is Counts.BESIDE_MONEY and is_of_money)
        (read.bare if is_bare else read.loose).append(place)


def _agreeing(found: list[Amount]) -> list[Amount]:
    """Return the amounts of one object; if two of them differ, all are ambiguous."""
    if len({amount.value for amount in found if amount.value is not None}) < 2:
        return found
    return [replace(amount, value=None, flaw=amount.flaw or AMBIGUOUS) for amount in found]


def _currency_in(value: Mapping[str, Any], around: str | None) -> str | None:
    """Return the currency that counts in an object: its own, else the one around it."""
    own = (item for key, item in value.items() if said_by(key) is Says.CURRENCY)
    named = [each for each in own if each is not None]
    if not named:
        return around
    if any(each != named[0] for each in named):
        return _DISPUTED
    return str(named[0]) if is_currency(named[0]) else _INVALID


def own_amounts(
    value: Mapping[str, Any], around: str | None, parts: Parts = ()
) -> tuple[list[Amount], str | None]:
    """Return the amounts that stand directly in an object, and the currency that counts there.

    `around` is the currency that the nearest enclosing object gave, None outside of all; `parts` is
    the place of the object.
    """
    currency = _currency_in(value, around)
    return _agreeing(list(_own(value, parts, currency))), currency


def _own(value: Mapping[str, Any], parts: Parts, currency: str | None) -> Iterator[Amount]:
    for key, item in value.items():
        match said_by(key):
            case Says.AMOUNT:
                amount = _written((*parts, key), item, currency or None)
            case Says.MINOR:
                amount = _minor((*parts, key), item, currency or None)
            case _:
                continue
        if currency == _DISPUTED:
            amount = Amount(amount.parts, None, flaw=amount.flaw or AMBIGUOUS)
        yield amount


def _written(parts: Parts, item: Any, currency: str | None) -> Amount:
    if item is None:
        return Amount(parts, currency, flaw=MISSING)
    value = value_of(item, currency or "USD")
    if value is not None and value > 0:
        return Amount(parts, currency, value)
    is_negative = isinstance(item, str) and item[:1] == "-"
    if value is not None or (is_negative and value_of(item[1:], currency or "USD") is not None):
        return Amount(parts, currency, flaw=NOT_POSITIVE)
    return Amount(parts, currency, flaw=AMBIGUOUS)


def _minor(parts: Parts, item: Any, currency: str | None) -> Amount:
    if item is None:
        return Amount(parts, currency, flaw=MISSING)
    if type(item) is not int:
        return Amount(parts, currency, flaw=AMBIGUOUS)
    if item <= 0:
        return Amount(parts, currency, flaw=NOT_POSITIVE)
    return Amount(parts, currency, Decimal(item).scaleb(-decimals_of(currency or "USD")))


def _totals(found: list[Amount]) -> Totals:
    """Sum the amounts of one object.

    The same value written whole and minor counts once. Two of one kind are two amounts, also of the
    same value: a tool may pay both `amount1` and `amount2`.
    """
    whole, minor = (_counted(found, said) for said in (Says.AMOUNT, Says.MINOR))
    totals: Totals = {}
    for (currency, value), times in (whole | minor).items():  # the greater of both counts
        _add(totals, {currency: value * times})
    return totals


def _counted(found: list[Amount], said: Says) -> Counter[tuple[str, Decimal]]:
    """Count the amounts whose names say this, by currency and value."""
    return Counter(
        (amount.currency, amount.value)
        for amount in found
        if amount.currency and amount.value is not None and said_by(str(amount.parts[-1])) is said
    )


def _add(totals: Totals, more: Totals) -> None:
    """Add `more` to `totals`, in place.

    A list may name thousands of currencies; a copy for each item would cost the square of its
    length.
    """
    for currency, value in more.items():
        totals[currency] = totals.get(currency, Decimal(0)) + value
