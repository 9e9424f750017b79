"""Tracks whether a surface hears: since when without a gap, when it last did, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.chat.cards.spans import about, moment_words

#: A connection without a sign of life for this long counts as deaf, whatever it says of itself.
SILENT_AFTER_S: Final = 60
#: After this long without a sign of life a line may be dead already: before anything becomes final
#: the platform is asked, or the card is read.
FRESH_FOR_S: Final = 2
#: A surface may be away for this long before people on the others are told.
TOLD_AFTER_S: Final = 30
_HEARD: Final = ", heard "


@dataclass(frozen=True, slots=True)
class Trouble:
    """A surface that hears nothing: since when (ms UTC) and why."""

    since_ms: int
    why: str


class Hearing:
    """The state of a platform's connection, which its client keeps.

    Code that closes windows, or tells people, reads it. `gap` is True from a loss until
    `caught_up`; `ever` is True once a connection has stood.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self._since_ms: int | None = None
        self._lost_ms = now_ms()
        self._last_ms = now_ms()
        self._why = "not connected yet"
        self._before_ms: int | None = None
        self._until_ms: int | None = None
        self._gap_before = True
        self._blind: Trouble | None = None
        self.gap = True
        self.ever = False

    @property
    def connected(self) -> bool:
        """True while a connection stands that is not deaf."""
        return self._since_ms is not None and not self.silent

    @property
    def silent(self) -> bool:
        """True if the connection has shown no sign of life for too long."""
        return self.now_ms() - self._last_ms > SILENT_AFTER_S * 1000

    def began(self) -> None:
        """Note that a connection stands, after a gap."""
        self._since_ms = self._last_ms = self.now_ms()
        self.gap = self.ever = True

    def alive(self) -> None:
        """Note that something came, even if only a sign of life."""
        self._last_ms = self.now_ms()

    def lost(self, why: str) -> None:
        """Note that the connection is gone. If it was gone already, only the reason is new."""
        if self._since_ms is not None:
            # One that was silent heard nothing before it was found dead either.
            self._lost_ms = self._last_ms if self.silent else self.now_ms()
            self._until_ms = self._last_ms
            self._before_ms, self._gap_before = self._since_ms, self.gap
        self._since_ms, self._why, self.gap = None, why, True

    def resumed(self) -> None:
        """Note that the connection stands again and the platform has sent what was missed.

        The loss then made no gap, but one from before it stays.
        """
        if self._before_ms is None:
            self.began()
            return
        self._since_ms, self.gap = self._before_ms, self._gap_before
        self._last_ms = self.now_ms()

    def blinded(self, why: str) -> None:
        """Note that nothing of the channel comes over the connection, even while it stands."""
        began_ms = self._lost_ms if self._since_ms is None else self.now_ms()
        self._blind = Trouble(self._blind.since_ms if self._blind else began_ms, why)

    def sees(self) -> bool:
        """Note that the connection brings what is done in the channel; return True if it did not
        before."""
        was_blind, self._blind = self._blind is not None, None
        if was_blind and self._since_ms is not None:
            self.began()
        elif was_blind:  # a resumed connection sends nothing of what could not be seen
            self._before_ms = None
        return was_blind

    @property
    def since_ms(self) -> int | None:
        """Since when the connection stands (ms UTC), None if none does."""
        return self._since_ms

    @property
    def line_ms(self) -> int | None:
        """Since when the connection stands, or that one stood which may be resumed without a gap;
        ms UTC, None if there is neither."""
        return self._before_ms if self._since_ms is None else self._since_ms

    @property
    def told_late_since_ms(self) -> int | None:
        """While the platform sends what was missed: since when that may have happened (ms UTC).
        None while all comes as it happens."""
        return self._until_ms if self._since_ms is None else None

    def heard_ms(self, *, stops: bool) -> int:
        """Return the time at which what comes now counts as heard, ms UTC.

        Nobody knows when something was given that the platform sends because it was missed: what
        came over another surface meanwhile may be newer. A stop undoes that all the same, so it
        counts as heard now.
        """
        late_ms = None if stops else self.told_late_since_ms
        return self.now_ms() if late_ms is None else late_ms

    def caught_up(self, since_ms: int | None) -> None:
        """Note that everything from the gap has been read. It counts only if the connection that
        began at `since_ms` still stands."""
        if since_ms == self._since_ms:
            self.gap = False

    def unbroken_since(self, at_ms: int | None) -> bool:
        """Return whether nothing can have been missed since that moment.

        A line that died a moment ago looks like one on which nobody speaks: it counts only up to
        its last sign of life, and that must have come just now.
        """
        return self.stood_since(at_ms) and self.fresh

    def stood_since(self, at_ms: int | None) -> bool:
        """Return whether one connection has stood since that moment, as far as its signs of life
        tell."""
        stands = self._since_ms is not None and self._blind is None
        return stands and at_ms is not None and (self._since_ms or 0) <= at_ms

    @property
    def fresh(self) -> bool:
        """True if a sign of life came just now."""
        return self.now_ms() - self._last_ms <= FRESH_FOR_S * 1000

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None if all is well.

        A trouble that follows upon another, as when a silent line is found dead, counts since the
        first began: nothing was heard in between.
        """
        if self._since_ms is not None and self.silent:
            return Trouble(self._last_ms, "connected, but nothing was heard")
        away = self._away() if self._since_ms is None else self._blind
        late = away is not None and self.now_ms() - away.since_ms > TOLD_AFTER_S * 1000
        return away if late else None

    def _away(self) -> Trouble:
        since_ms = min(self._lost_ms, self._blind.since_ms) if self._blind else self._lost_ms
        return Trouble(since_ms, self._why)

    def words(self) -> str:
        """Return one line for `status`."""
        now_ms = self.now_ms()
        if self._since_ms is None:
            return f"DOWN since {moment_words(self._lost_ms)}: {self._why}"
        if self.silent:
            return f"DEAF since {moment_words(self._last_ms)}: connected, but nothing was heard"
        if self._blind is not None:
            return f"BLIND since {moment_words(self._blind.since_ms)}: {self._blind.why}"
        heard = about(self._last_ms, now_ms)
        return f"connected since {moment_words(self._since_ms)}{_HEARD}{heard}"


def lasting(line: str) -> str:
    """Return a line for `status` without how long ago something was heard."""
    return line.partition(_HEARD)[0]
