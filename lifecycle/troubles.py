"""What the bot itself cannot do: who is told of it, when, and that it is over."""

from __future__ import annotations

import logging

from lifecycle.failing import Failing
from lifecycle.ports import StoreClosed, StoreUnavailable
from lifecycle.surroundings import Surroundings
from lifecycle.unwritten import Unwritten

log = logging.getLogger("signoff.workflow")

_MOST_SAID = 1_000


class Troubles:
    """Steps that keep failing or hang, and a store that takes nothing; people are told of both."""

    def __init__(self, around: Surroundings) -> None:
        """Tell people by the notifier that stands around then."""
        self._around = around
        self._said: set[str] = set()
        self.failing = Failing()
        self.unwritten = Unwritten()

    def step_failed(self, step: str, why: str, *, known: bool = False, whose: str = "") -> None:
        """Note that a step of the bot's own failed; people are told once it keeps failing.

        `known`: it follows from what they were told already. `whose`: who tried it.
        """
        self._tell(self.failing.failed(step, self._now_ms(), why, known=known, whose=whose))

    def step_mended(self, step: str, whose: str = "", *, given_up: str = "") -> None:
        """Note that a step went well; give the all-clear where it failed. `given_up`: why it is
        tried no more, which is no all-clear."""
        self._tell(self.failing.mended(step, self._now_ms(), whose, given_up=given_up))

    def step_hangs(self, step: str, since_ms: int) -> None:
        """Note that a step that began then, in ms UTC, does not end; people are told once."""
        self._tell(self.failing.hangs(step, since_ms))

    def step_ended(self, step: str) -> None:
        """Note that it has ended; give the all-clear where people were told that it did not."""
        self._tell(self.failing.ended(step, self._now_ms()))

    def store_failed(self, error: StoreUnavailable) -> None:
        """Note that the store did not take a unit; people are told of the first one."""
        if not isinstance(error, StoreClosed):  # by the bot itself, which ends
            self._tell(self.unwritten.failed(self._now_ms(), str(error)))

    def store_mended(self) -> None:
        """Note that the store takes everything again; give the all-clear where it did not."""
        self._tell(self.unwritten.mended(self._now_ms()))

    def say_once(self, words: str) -> None:
        """Say to the log, once, what is met again at every round."""
        if words not in self._said:
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._said.add(words)
            log.error("%s", words)

    def _now_ms(self) -> int:
        return self._around.clock.now_ms()

    def _tell(self, words: str | None) -> None:
        """Let people know; at the end, when no surface takes anything, by the log alone."""
        if words:
            (log.error if self._around.stopping else self._around.notifier.alert)(words)
