"""A paste that never ends, and a run of keys without a pause, take no more room than a line may."""

from __future__ import annotations

import pytest

from bot.chat.terminal.keys import LONGEST_ENTERED
from tests.bot.chat.test_terminal_keys import a_terminal_of_its_own

PIECE = "x" * 100_000


@pytest.mark.parametrize("begins", ["\x1b[200~", ""])
def test_what_comes_without_an_end_is_not_kept_beyond_the_limit(begins: str) -> None:
    """One character more is: it tells that something was left out."""
    with a_terminal_of_its_own() as (_, keys):
        keys.vt100_parser.feed(begins)
        for _ in range(2 * LONGEST_ENTERED // len(PIECE)):
            keys.vt100_parser.feed(PIECE)
        held = sum(map(len, keys.vt100_parser._held))  # type: ignore[attr-defined]
        keys.vt100_parser.feed("\x1b[201~" if begins else "\r")
        pressed = keys.flush_keys()

    assert held == LONGEST_ENTERED + 1
    assert held >= max(len(each.data) for each in [*pressed, *keys._buffer])
