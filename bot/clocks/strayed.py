"""Compares the machine's clock with the bot's own, which was read from it at the start.

The job `tell_clock` and `status` in the chat tell people about a difference.
"""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from lifecycle.moment import clock_words
from lifecycle.ports import Clock

#: A difference of ten minutes gets documents refused; people should know well before.
_TOLERATED_MS: Final = 60_000
#: What a restart does to open windows after the clock was set forward (ADR 0022).
BOT_ALONE: Final = (
    "What is open keeps its time over a restart of the bot alone. Of the whole machine it does "
    "not: before that freeze, and thaw once windows have had theirs."
)


@runtime_checkable
class Anchored(Clock, Protocol):
    """A clock that was read from the machine's once and knows their difference since."""

    def ahead_ms(self) -> int:
        """Return how far the wall clock was ahead of the boot clock when it was read, in ms."""

    def strayed_ms(self) -> int:
        """Return how far the machine's clock is ahead of this one, in ms; negative if behind."""


def clock_strayed(clock: Clock) -> str | None:
    """Return a line for people if the machine's clock differs from `clock` by more than a minute,
    else None."""
    if not isinstance(clock, Anchored) or abs(clock.strayed_ms()) <= _TOLERATED_MS:
        return None
    ours_ms, away_ms = clock.now_ms(), clock.strayed_ms()
    return (
        f"The machine's clock says {clock_words(ours_ms + away_ms)}, and the bot counts "
        f"{clock_words(ours_ms)} since its start: it was set meanwhile, or the machine stood "
        "still. No window moves, but documents that bear the machine's time may be refused "
        "(implausible_time). Once the machine's clock is right, restart the bot."
        + (f" {BOT_ALONE}" if away_ms > 0 else "")
    )
