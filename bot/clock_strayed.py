"""Whether the machine's clock is no longer the one that the bot counts on from."""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from lifecycle.moment import clock_words
from lifecycle.ports import Clock

#: Documents are refused from ten minutes on; people should know well before.
_TOLERATED_MS: Final = 60_000
#: What a start by a later clock does to the windows that were opened by an earlier one (ADR 0022).
BOT_ALONE: Final = (
    "What is open keeps its time over a restart of the bot alone. Of the whole machine it does "
    "not: before that freeze, and thaw once windows have had theirs."
)


@runtime_checkable
class Anchored(Clock, Protocol):
    """A clock that was set once and knows how far the machine's has strayed from it since."""

    def ahead_ms(self) -> int:
        """Return how far the wall was ahead of the boot clock when it was set, in ms."""

    def strayed_ms(self) -> int:
        """Return how far the machine's is ahead, in ms; below 0 it is behind."""


def clock_strayed(clock: Clock) -> str | None:
    """Return a line where the machine's clock is no longer the one that we count on from."""
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
