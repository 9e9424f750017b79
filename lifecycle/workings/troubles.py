"""Tells people what the bot itself cannot do, when that lasts, and when it is over."""

from __future__ import annotations

import logging

from lifecycle.ports import StoreClosed, StoreUnavailable
from lifecycle.surroundings import Surroundings
from lifecycle.workings.failing import Failing
from lifecycle.workings.unwritten import Unwritten

log = logging.getLogger("signoff.workflow")

_MOST_SAID = 1_000


class Troubles:
    """Steps that keep failing or hang, and a store that takes nothing; people are told of both."""

    def __init__(self, around: Surroundings) -> None:
        """Tell people by the notifier that `around` holds at the time."""
        self._around = around
        self._said: set[str] = set()
        self.failing = Failing()
        self.unwritten = Unwritten()

    def step_failed(self, step: str, why: str, *, known: bool = False, whose: str = "") -> None:
        """Note that a step of the bot's own failed; people are told once it keeps failing.

        `known`: the failure follows from what they were told already. `whose`: who tried it.
        """
        self._tell(self.failing.failed(step, self._now_ms(), why, known=known, whose=whose))

    def step_mended(self, step: str, whose: str = "", *, given_up: str = "") -> None:
        """Note that a step went well; give the all-clear if people were told that it failed.
        `given_up` is why it is tried no more; people are told that instead."""
        self._tell(self.failing.mended(step, self._now_ms(), whose, given_up=given_up))

    def step_hangs(self, step: str, since_ms: int) -> None:
        """Note that a step that began at `since_ms` (ms UTC) does not end; people are told once."""
        self._tell(self.failing.hangs(step, since_ms))

    def step_ended(self, step: str) -> None:
        """Note that such a step has ended; give the all-clear if people were told that it hangs."""
        self._tell(self.failing.ended(step, self._now_ms()))

    def store_failed(self, error: StoreUnavailable) -> None:
        """Note that the store did not take a unit; people are told of the first one."""
        if not isinstance(error, StoreClosed):  # by the bot itself, which ends
            self._tell(self.unwritten.failed(self._now_ms(), str(error)))

    def store_hangs(self, since_ms: int) -> None:
        """Note that the store has not answered since `since_ms` (ms UTC); people are told once."""
        if not self._around.ending:
            self._tell(self.unwritten.hangs(since_ms))

    def store_answers(self) -> None:
        """Note that it has answered; give the all-clear, unless a write has failed meanwhile."""
        if self.unwritten.only_hung:
            self.store_mended()

    def store_mended(self) -> None:
        """Note that the store takes everything again; give the all-clear if it did not before."""
        self._tell(self.unwritten.mended(self._now_ms()))

    def say_once(self, words: str) -> None:
        """Log as an error, once, what is met again at every round."""
        if words not in self._said:
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._said.add(words)
            log.error("%s", words)

    def _now_ms(self) -> int:
        return self._around.clock.now_ms()

    def _tell(self, words: str | None) -> None:
        """Alert people; while the bot ends, when no surface takes anything, log it instead."""
        if words:
            (log.error if self._around.ending else self._around.notifier.alert)(words)
