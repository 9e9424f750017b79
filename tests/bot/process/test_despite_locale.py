"""Words that a person typed, in a locale that cannot read them."""

from __future__ import annotations

import pytest

from bot.process.despite_locale import despite_locale

WORDS = "trop élevé, 高すぎる 🙂"


@pytest.mark.parametrize("locale", ["ascii", "euc_jp", "utf-8"])
def test_utf_8_in_a_locale_that_cannot_read_it_is_read_as_utf_8(locale: str) -> None:
    assert despite_locale(WORDS.encode().decode(locale, "surrogateescape"), locale) == WORDS


@pytest.mark.parametrize("locale", ["latin-1", "utf-8", "ascii"])
def test_what_the_locale_can_read_is_left_as_it_read_it(locale: str) -> None:
    words = "trop élevé" if locale != "ascii" else "too much"
    assert despite_locale(words.encode(locale).decode(locale), locale) == words


def test_bytes_that_are_no_text_in_either_stay_for_others_to_refuse() -> None:
    kept = b"\xfc\xff".decode("ascii", "surrogateescape")
    assert despite_locale(kept, "ascii") == despite_locale(kept) == kept
    assert despite_locale("half \ud83d", "utf-8") == "half \ud83d"
