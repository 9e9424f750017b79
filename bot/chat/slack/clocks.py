"""Measures how far Slack's clock is ahead of ours, to translate the times that Slack gives.

Slack says when a ✅ was given; what a card showed at which time is noted by our clock. If the two
are minutes apart, a ✅ would count for what its card showed later, or for nothing at all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from lifecycle.ports import Clock

log = logging.getLogger("signoff.slack")

#: Answers are dated in whole seconds.
_SECOND_MS: Final = 1_000
#: An answer that took longer changes the known difference only if it contradicts that.
_SLOW_MS: Final = 1_000


class SlackClock:
    """How far Slack's clock is ahead of ours, by the dates of its answers."""

    def __init__(self, clock: Clock) -> None:
        """Assume that both clocks agree, until an answer shows that they do not."""
        self._clock = clock
        self._ahead_ms = 0
        self._told = False

    def answered(self, headers: Mapping[str, Any], asked_ms: int) -> None:
        """Learn from an answer to what was asked at `asked_ms`; one without a date says nothing.

        The answer was dated at some moment between then and now, so one that took long says little.
        Clocks that may agree are taken to agree.
        """
        dated_ms, now_ms = _dated_ms(headers), self._clock.now_ms()
        if dated_ms is None:
            return
        least_ms, most_ms = dated_ms - now_ms, dated_ms + _SECOND_MS - asked_ms
        if now_ms - asked_ms <= _SLOW_MS or not least_ms <= self._ahead_ms <= most_ms:
            self._ahead_ms = most_ms if least_ms > 0 or most_ms < 0 else 0
        self._tell()

    def ours(self, slack_ms: int | None) -> int | None:
        """Return the earliest moment by our clock of a time by Slack's; ms UTC, None for None."""
        return None if slack_ms is None else slack_ms - self._ahead_ms

    def slacks(self, our_ms: int) -> int:
        """Return a time of ours by Slack's clock, in ms UTC, give or take a second and the way."""
        return our_ms + self._ahead_ms

    def trouble(self) -> str | None:
        """Return a line if the clocks are a minute apart or more, for people to know.

        If ours is minutes away, Slack's signatures and what agents date are refused.
        """
        minutes = abs(self._ahead_ms) // 60_000
        if minutes < 1:
            return None
        side = "ahead of" if self._ahead_ms > 0 else "behind"
        return f"Slack's clock is {minutes} min {side} the bot's: is the machine's clock right?"

    def _tell(self) -> None:
        """Log once that the clocks have come apart, and once that they agree again."""
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
