"""Chooses who speaks next: what people wait for, then new cards and answers to agents in turn.

A platform takes about one message a second in a channel. The next speaker is chosen when there is
room and not when somebody joins the queue, so that a flood of one agent cannot stand before anybody
else.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Final, NamedTuple

#: After so many turns of rank FIRST in a row one of the others has a turn.
_FIRSTS: Final = 4


class Rank(IntEnum):
    """How soon something is shown. CARDS and AGENTS take turns, so that neither waits for ever."""

    FIRST = 0  # answers and notes to people, and what became of a card that stands
    CARDS = 1
    AGENTS = 2


class Turn(NamedTuple):
    """Names one waiting line: how soon it is served (`rank`), and whose line it is (`who`)."""

    rank: Rank
    who: str = ""


_CARDS: Final = Turn(Rank.CARDS)
_mine: ContextVar[Turn] = ContextVar("turn", default=_CARDS)


@contextmanager
def taking_turns_as(turn: Turn) -> Iterator[None]:
    """Make all that is said within wait in the line of `turn`, also in tasks begun there."""
    before = _mine.set(turn)
    try:
        yield
    finally:
        _mine.reset(before)


class Fairness:
    """Chooses which waiting line is served next, and remembers which ones were served."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._served: dict[Turn, int] = {}
        self._last: Rank | None = None
        self._firsts = 0

    def choose(self, waiting: Iterable[Turn]) -> Turn | None:
        """Return the line whose turn it is, None if nobody waits."""
        return min(waiting, key=self._place, default=None)

    def served(self, turn: Turn) -> None:
        """Note that this line had its turn."""
        self._served[turn] = next(self._numbers)
        first = turn.rank is Rank.FIRST
        self._firsts = self._firsts + 1 if first else 0
        self._last = self._last if first else turn.rank

    def forget(self) -> None:
        """Forget who was served, for nobody waits: whoever comes now begins anew."""
        self._served.clear()

    def _place(self, turn: Turn) -> tuple[int, bool, int]:
        served = self._served.get(turn, 0)
        if turn.rank is Rank.FIRST:
            return 0 if self._firsts < _FIRSTS else 2, False, served
        return 1, turn.rank is self._last, served


class Turns:
    """Lets at most `at_once` callers speak at a time. The fairest waiting line is next; within a
    line the order of arrival holds."""

    def __init__(self, at_once: int = 1) -> None:
        self._free = at_once
        self._lines: dict[Turn, deque[asyncio.Future[None]]] = {}
        self._fairness = Fairness()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn in the line of the present context, and hold it while entered."""
        await self._wait(_mine.get())
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, turn: Turn) -> None:
        if self._free:
            self._free -= 1
            self._fairness.served(turn)
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(turn, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._pass_on()  # it was given the turn in the moment in which it was cancelled
            raise

    def _pass_on(self) -> None:
        while (turn := self._fairness.choose(self._lines)) is not None:
            line = self._lines[turn]
            called = line.popleft()
            if not line:
                del self._lines[turn]
            if not called.done():
                self._fairness.served(turn)
                called.set_result(None)
                return
        self._free += 1
        self._fairness.forget()
