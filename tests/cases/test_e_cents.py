"""Cases E04, E05 and E07 for any amount at all."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from lifecycle.text.amounts import amounts_of

CENTS = st.integers(1, 10**15)


@given(CENTS)
def test_E04_both_spellings_of_a_value_agree(cents: int) -> None:
    written = f"{cents // 100}.{cents % 100:02}"

    assert amounts_of({"amount": written, "currency": "USD"}) == amounts_of(
        {"amount_minor": cents, "currency": "USD"}
    )


@given(st.lists(CENTS, min_size=1, max_size=30))
def test_E05_a_sum_is_what_its_cents_come_to(cents: list[int]) -> None:
    items = [{"amount": f"{each // 100}.{each % 100:02}"} for each in cents]

    (total,) = amounts_of({"currency": "USD", "items": items})

    assert total.amount == Decimal(sum(cents)) / 100


@given(st.text(max_size=12))
def test_E07_what_is_read_is_written_back_the_same(text: str) -> None:
    read = amounts_of({"amount": text, "currency": "USD"})

    assert not read or text in (str(read[0].amount), f"{read[0].amount:.0f}")
