"""Slack's clock and ours: when something was that Slack gives the time of.

Slack says when a ✅ was given; what a card showed when is written down by our clock. Where the two
are minutes apart, a ✅ would count for what its card showed later, or for nothing at all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from lifecycle.ports import Clock

log = logging.getLogger("signoff.slack")

#: Answers are dated by the whole second.
_SECOND_MS: Final = 1_000
#: An answer that took longer changes nothing of what was known and may still hold.
_SLOW_MS: Final = 1_000


class SlackClock:
    """How far Slack's clock is ahead of ours, by the dates of its answers."""

    def __init__(self, clock: Clock) -> None:
        """Count on both being alike until an answer shows that they are not."""
        self._clock = clock
        self._ahead_ms = 0
        self._told = False

    def answered(self, headers: Mapping[str, Any], asked_ms: int) -> None:
        """Take note of an answer to what was asked at `asked_ms`; one without a date says nothing.

        It was dated at some moment between then and now, so that one which took long says little.
        Clocks that may be alike are taken to be.
        """
        dated_ms, now_ms = _dated_ms(headers), self._clock.now_ms()
        if dated_ms is None:
            return
        least_ms, most_ms = dated_ms - now_ms, dated_ms + _SECOND_MS - asked_ms
        if now_ms - asked_ms <= _SLOW_MS or not least_ms <= self._ahead_ms <= most_ms:
            self._ahead_ms = most_ms if least_ms > 0 or most_ms < 0 else 0
        self._tell()

    def ours(self, slack_ms: int | None) -> int | None:
        """Return when that was by our clock, at the soonest; ms UTC, None for None."""
        return None if slack_ms is None else slack_ms - self._ahead_ms

    def slacks(self, our_ms: int) -> int:
        """Return when that is by Slack's clock, give or take a second and the way there; ms UTC."""
        return our_ms + self._ahead_ms

    def trouble(self) -> str | None:
        """Return a line where the clocks are so far apart that people should know.

        Slack's signatures, and what agents date, are refused where ours is minutes away.
        """
        minutes = abs(self._ahead_ms) // 60_000
        if minutes < 1:
            return None
        side = "ahead of" if self._ahead_ms > 0 else "behind"
        return f"Slack's clock is {minutes} min {side} the bot's: is the machine's clock right?"

    def _tell(self) -> None:
        """Log that the clocks have come apart, and once that they are together again."""
        away = self.trouble()
        if self._told != (away is not None):
            self._told = away is not None
            log.warning("slack: %s", away or "Slack's clock and the bot's are alike again")


def _dated_ms(headers: Mapping[str, Any]) -> int | None:
    dates = (str(value) for name, value in headers.items() if name.lower() == "date")
    try:
        dated = parsedate_to_datetime(next(dates, ""))
        return None if dated.tzinfo is None else int(dated.timestamp()) * 1000
    except (ValueError, OverflowError):
        return None
