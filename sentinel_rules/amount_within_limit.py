"""Money moves only in amounts that are unmistakable, positive and within their limits.

What it checks:
    Every `amount` (a string of ASCII digits: no sign, no leading zero, no point or exactly the
    currency's decimals) and every `amount_minor` (an integer) at any depth of the parameters and
    of the target's constraints, with the `currency` of the same object or the nearest one around
    it. Each must be positive, have a limit, and be within it alone, summed with its list, and
    summed with all others of its currency in whatever shape they stand; with what the agent's other
    proposals hold that are open or were completed in the last 24 hours, they must be within the
    limit of the day (a later one counts from its own verdict on). In both sums an amount that is
    exactly what one list beside it comes to counts once, as the total of that list, and so do
    constraints that repeat what the parameters come to, and `amount` beside `amount_minor` of the
    same value; `amount1` and `amount2` are two amounts.
    A `transact` without an amount is missing one; so are numbers in a list named `items` or
    `amounts` that are not called an amount, where the tool transacts or an amount or a currency
    stands in or around the list, prices (`unit_price`, `total_amount`, `price_usd`) at any depth of
    such a list in any tool, and, where the tool transacts, prices in words (`20000 USD`), texts
    with a number in `amounts` and any number of an object there that has no amount. Numbers called
    `payments`, `charges` or `refunds` may count, and are prices only where the tool transacts or
    money stands around; `amount_kg` is none. Two currencies in one object make its amounts
    ambiguous.

Why:
    `1.000,50`, `1e5` and 0.1 are read differently by the card, the rule and whoever pays; a
    negative item hides a large one; ten small payments are one large payment.

Settings:
    per_action: {USD: "10000.00"}      the most of one action, by currency, in quotes.
    per_agent_day: {USD: "25000.00"}   the most of one agent in 24 hours. Every currency has both;
        one that has none has no limit to be within, so nothing of it passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts, dotted
from lifecycle.policy import ActionType
from lifecycle.records import ANY_CURRENCY
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.amounts import (
    AMBIGUOUS,
    MISSING,
    NOT_POSITIVE,
    Amount,
    AmountsRead,
    is_currency,
    read_amounts,
    value_of,
)
from lifecycle.verdict import Finding

_WORDS: Final = {
    AMBIGUOUS: (
        "This amount can be read in more than one way: write a string of digits with no point or "
        'exactly the currency\'s decimals, like "120.00", once.'
    ),
    NOT_POSITIVE: "An amount is above zero: write it without a sign.",
    MISSING: "There is no amount here: write `amount` and `currency`.",
}
_UNKNOWN: Final = (
    "An amount of {} of the last 24 hours cannot be read in the database, so that no other one is "
    "known to be within the limit of a day. `signoff audit verify` names what holds it."
)
_PARAMETERS: Final[Parts] = ("parameters",)


def _as_text(value: Any) -> Any:
    """Return a whole number as text; a number with a point may have been changed by its reader."""
    if isinstance(value, float):
        raise ValueError(f"write {value} in quotes, with the decimals of its currency")
    return str(value) if type(value) is int else value


def _currency(value: str) -> str:
    if not is_currency(value):
        raise ValueError(f"{value!r} is no currency: write three capital letters, like USD")
    return value


Limits = dict[Annotated[str, AfterValidator(_currency)], Annotated[str, BeforeValidator(_as_text)]]


class AmountWithinLimit:
    """Every amount is unmistakable, positive and within its limits."""

    id: ClassVar[str] = "amount_within_limit"
    version: ClassVar[int] = 10
    timeless = True
    summary: ClassVar[str] = "Amounts are unmistakable, positive, and within action and day limits."

    class Options(RuleOptions):
        """The limits by currency."""

        per_action: Limits = Field(default_factory=dict)
        per_agent_day: Limits = Field(default_factory=dict, validate_default=True)

        @field_validator("per_action", "per_agent_day")
        @classmethod
        def _are_amounts(cls, limits: dict[str, str]) -> dict[str, str]:
            for currency, limit in limits.items():
                if value_of(limit, currency) is None:
                    raise ValueError(
                        f"{limit!r} is no amount of {currency}: write digits in quotes, like "
                        '"10000.00"'
                    )
            return limits

        @field_validator("per_agent_day")
        @classmethod
        def _has_both(cls, limits: dict[str, str], info: ValidationInfo) -> dict[str, str]:
            of_action = info.data.get("per_action", limits)
            for currency in sorted(limits.keys() ^ of_action.keys()):
                lacking = "per_action" if currency in limits else "per_agent_day"
                raise ValueError(
                    f"{currency} has no limit in {lacking}, so nothing of it would ever pass: "
                    "write both, or neither"
                )
            return limits

    def __init__(self, options: Options) -> None:
        self._action = {c: Decimal(limit) for c, limit in options.per_action.items()}
        self._day = {c: Decimal(limit) for c, limit in options.per_agent_day.items()}

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True: any tool may move money."""
        return True

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Find every amount that is not one, and every limit that is passed."""
        read = read_amounts(proposal.parameters, proposal.target.constraints)
        moves_money = ActionType.TRANSACT in (proposal.action_type, facts.tool.action_type)
        bare = [*read.bare, *read.loose] if moves_money else read.bare
        if not (moves_money or read.amounts or bare):
            return said(())
        found = [*self._each(read), *(_finding(MISSING, parts) for parts in bare)]
        found += [*self._lists(read), *self._together(read), *self._day_of(read, facts.spent)]
        if moves_money and not read.amounts and not bare:
            found.append(_finding(MISSING, _PARAMETERS))
        return said(found)

    def _each(self, read: AmountsRead) -> Iterator[Finding]:
        for amount in read.amounts:
            if amount.flaw:
                yield _finding(amount.flaw, amount.parts)
            elif amount.currency not in self._action or amount.currency not in self._day:
                yield Finding("no_limit_for_currency", dotted(amount.parts), self._no_limit(amount))
            elif amount.value is not None and amount.value > self._action[amount.currency]:
                yield self._above(amount.parts, amount.currency, "This amount is")

    def _lists(self, read: AmountsRead) -> Iterator[Finding]:
        for parts, totals in read.lists:
            for currency, total in sorted(totals.items()):
                if total > self._action.get(currency, total):
                    yield self._above(parts, currency, f"This list comes to {total}, which is")

    def _together(self, read: AmountsRead) -> Iterator[Finding]:
        """Yield a finding for a sum above the limit that no single amount and no list is above.

        Those are payments under names, or in several lists.
        """
        for currency, total in sorted(read.total.items()):
            limit = self._action.get(currency, total)
            if total <= limit:
                continue  # first, since a document may name 2,000 currencies
            parts = [a.value for a in read.amounts if a.currency == currency and a.value]
            parts += [totals[currency] for _, totals in read.lists if currency in totals]
            if all(part <= limit for part in parts):
                what = f"All amounts of {currency} together come to {total}, which is"
                yield self._above(_first_in(read, currency), currency, what)

    def _above(self, parts: Parts, currency: str, what: str) -> Finding:
        words = f"{what} above the limit of {self._action[currency]} {currency} for one action."
        return Finding("action_limit", dotted(parts), words)

    def _day_of(self, read: AmountsRead, spent: Mapping[str, Decimal]) -> Iterator[Finding]:
        for currency, total in sorted(read.total.items()):
            held = (spent.get(each, Decimal(0)) for each in (currency, ANY_CURRENCY))
            before, limit = sum(held, Decimal(0)), self._day.get(currency)
            if limit is not None and before + total > limit:
                words = (
                    f"With {before} {currency} of the last 24 hours this comes to "
                    f"{before + total}, above the limit of {limit} {currency} a day."
                    if before.is_finite()
                    else _UNKNOWN.format(currency)
                )
                yield Finding("daily_limit", dotted(_first_in(read, currency)), words)

    def _no_limit(self, amount: Amount) -> str:
        limited = ", ".join(sorted(self._action.keys() & self._day.keys())) or "no currency"
        named = amount.currency or "An amount without a valid currency"
        return f"{named} has no limit to be within: there are limits for {limited}."

    passes: ClassVar[tuple[RuleCase, ...]] = ()
    fails: ClassVar[tuple[RuleCase, ...]] = ()


def _finding(code: str, parts: Parts) -> Finding:
    return Finding(code, dotted(parts), _WORDS[code])


def _first_in(read: AmountsRead, currency: str) -> Parts:
    return next((a.parts for a in read.amounts if a.currency == currency), _PARAMETERS)


def _case(name: str, parameters: Any, code: str | None = None, spent: str = "0") -> RuleCase:
    return RuleCase(
        name,
        {"action_type": "transact", "parameters": parameters},
        {"per_action": {"USD": "10000.00"}, "per_agent_day": {"USD": "25000.00"}},
        {"name": "issue-refund"},
        {"spent": {"USD": Decimal(spent)}},
        code,
    )


AmountWithinLimit.passes = (
    _case("exactly the limit", {"amount": "10000.00", "currency": "USD"}),
    _case("exactly the limit in cents", {"amount_minor": 1000000, "currency": "USD"}),
    _case(
        "a list that comes to the limit",
        {"currency": "USD", "items": [{"amount": "3333.33"}, {"amount": "6666.67"}]},
    ),
    _case(
        "a total beside what it comes to",
        {"currency": "USD", "amount": "9000.00", "items": [{"amount": "9000.00"}]},
    ),
    _case(
        "payments by name that come to the limit",
        {"currency": "USD", "pay": {"a": {"amount": "9000.00"}, "b": {"amount": "1000.00"}}},
    ),
    _case("exactly the day's limit", {"amount": "120.00", "currency": "USD"}, spent="24880.00"),
    RuleCase("no money at all"),
    RuleCase(
        "numbers that nothing calls money",
        {"parameters": {"items": [17, {"name": "timeout", "value": 30}, {"total": 3}]}},
    ),
)
AmountWithinLimit.fails = (
    _case("a JSON number", {"amount": 50.5, "currency": "USD"}, AMBIGUOUS),
    _case("a decimal comma", {"amount": "1.000,50", "currency": "USD"}, AMBIGUOUS),
    _case("a negative amount", {"amount": "-50000.00", "currency": "USD"}, NOT_POSITIVE),
    _case("no amount", {"order": "17"}, MISSING),
    _case("bare numbers", {"items": [20000.0, -15000.0], "currency": "USD"}, MISSING),
    _case("bare numbers of a tool that pays", {"items": [20000]}, MISSING),
    RuleCase(
        "bare numbers beside a currency",
        {"parameters": {"items": [7], "currency": "USD"}},
        code=MISSING,
    ),
    _case("two currencies", {"amount": "9.00", "currency": "USD", "Currency": "JPY"}, AMBIGUOUS),
    _case("a name in odd case", {"aMOUNT": "50000.00", "currency": "USD"}, "action_limit"),
    _case(
        "a currency without a limit",
        {"amount": "1.00", "currency": "EUR"},
        "no_limit_for_currency",
    ),
    _case("one cent above", {"amount_minor": 1000001, "currency": "USD"}, "action_limit"),
    _case(
        "a list above the limit",
        {"currency": "USD", "items": [{"amount": "9000.00"}, {"amount": "1000.01"}]},
        "action_limit",
    ),
    _case(
        "payments by name that come to more",
        {"currency": "USD", "pay": {"a": {"amount": "9000.00"}, "b": {"amount": "1000.01"}}},
        "action_limit",
    ),
    _case(
        "two amounts of one value",
        {"currency": "USD", "amount1": "9000.00", "amount2": "9000.00"},
        "action_limit",
    ),
    _case(
        "two lists that come to more",
        {"currency": "USD", "a": [{"amount": "9000.00"}], "b": [{"amount": "1000.01"}]},
        "action_limit",
    ),
    _case("a day's worth", {"amount": "120.00", "currency": "USD"}, "daily_limit", "24880.01"),
)
