"""Since when what is found on a card was given there, as its row tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.hearing.standing_in import anew, claimed
from lifecycle.records import Card

CARD = Card("p1", "slack", 1)


def test_a_card_bears_nothing_that_was_given_before_its_post_was_begun() -> None:
    """Its answer was lost, and accounts changed hands before it was found."""
    posted = anew(claimed(replace(CARD, extra={"hands": {"": 1, "UANA": 2}}), 3))
    assert posted.extra["hands"] == {"": 3}


@pytest.mark.parametrize("extra", [{}, {"hands_claimed": "x"}, {"hands_claimed": 0}])
def test_one_that_was_posted_before_any_account_changed_hands_says_nothing(
    extra: dict[str, object],
) -> None:
    assert "hands" not in anew(replace(CARD, extra=extra)).extra
