"""Whose turn it is: what people wait for comes first, then cards and answers to agents in turn.

A platform takes about one message a second in a channel. Who is next is chosen when there is room
and not when somebody joins the queue, so that no flood of one agent stands before anybody else.
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

#: So many that come first in a row, and one of the others has a turn.
_FIRSTS: Final = 4


class Rank(IntEnum):
    """How soon something is to be shown. The last two take turns, and none waits for good."""

    FIRST = 0  # answers and notes to people, and what became of a card that stands
    CARDS = 1
    AGENTS = 2


class Turn(NamedTuple):
    """A line of its own: whose it is, and how soon they are to be heard."""

    rank: Rank
    who: str = ""


_CARDS: Final = Turn(Rank.CARDS)
_mine: ContextVar[Turn] = ContextVar("turn", default=_CARDS)


@contextmanager
def taking_turns_as(turn: Turn) -> Iterator[None]:
    """Speak within as `turn` says, tasks that are begun there included."""
    before = _mine.set(turn)
    try:
        yield
    finally:
        _mine.reset(before)


class Fairness:
    """Chooses who is next, and remembers who was."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._served: dict[Turn, int] = {}
        self._last: Rank | None = None
        self._firsts = 0

    def choose(self, waiting: Iterable[Turn]) -> Turn | None:
        """Return whose turn it is, None where nobody waits."""
        return min(waiting, key=self._place, default=None)

    def served(self, turn: Turn) -> None:
        """Note that somebody had their turn."""
        self._served[turn] = next(self._numbers)
        first = turn.rank is Rank.FIRST
        self._firsts = self._firsts + 1 if first else 0
        self._last = self._last if first else turn.rank

    def forget(self) -> None:
        """Nobody waits: whoever comes now begins anew."""
        self._served.clear()

    def _place(self, turn: Turn) -> tuple[int, bool, int]:
        served = self._served.get(turn, 0)
        if turn.rank is Rank.FIRST:
            return 0 if self._firsts < _FIRSTS else 2, False, served
        return 1, turn.rank is self._last, served


class Turns:
    """Lets so many speak `at_once`; of those that wait the fairest is next, each line in order."""

    def __init__(self, at_once: int = 1) -> None:
        self._free = at_once
        self._lines: dict[Turn, deque[asyncio.Future[None]]] = {}
        self._fairness = Fairness()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it within."""
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
                self._pass_on()  # called in the very moment in which it was given up
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
