"""Looks names up on threads of its own, so that a name server that does not answer holds up neither
other work nor the end of the process.

A lookup cannot be cancelled, and the system waits half a minute and more for an answer. On the
loop's own pool a few of them kept a ❌ from discarding a draft, for so long that its outcome became
unknown.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

#: How many lookups may be without an answer before the next one waits.
_THREADS: Final = 8


class _Asked(NamedTuple):
    """The arguments of one lookup, in the order of `socket.getaddrinfo`."""

    host: Any
    port: Any
    family: int
    type: int
    proto: int
    flags: int


class _Question:
    """One lookup: its arguments, its answer, how many callers wait, and whether a thread has begun.

    `waiting` is changed on the loop and read on a lookup thread; `begun` the other way round.
    """

    __slots__ = ("answer", "asked", "begun", "waiting")

    def __init__(self, asked: _Asked, answer: asyncio.Future[Any]) -> None:
        self.asked, self.answer = asked, answer
        self.begun, self.waiting = False, 0


class Lookups:
    """Looks names up for one loop, in place of the loop's own `getaddrinfo`.

    Callers that ask the same share one lookup, so that twenty calls of one server take one thread.
    A lookup for which nobody waits any more is dropped before its turn: calls that are cancelled
    and repeated would else always be queued before a platform that can be found.

    `_serve` runs on the lookup threads, everything else on the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start all threads at once. Raises RuntimeError if one cannot be started."""
        self._loop = loop
        self._under_way: dict[_Asked, _Question] = {}
        self._queue: SimpleQueue[_Question] = SimpleQueue()
        for _ in range(_THREADS):
            threading.Thread(target=self._serve, name="signoff-lookup", daemon=True).start()

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        """Do what the loop's own method does. Raises OSError; ValueError if it cannot be a name."""
        asked = _Asked(host, port, family, type, proto, flags)
        question = self._under_way.get(asked) or self._put(asked)
        question.waiting += 1
        try:
            return list(await asyncio.shield(question.answer))
        finally:
            question.waiting -= 1
            if not question.waiting and not question.begun:
                self._forget(question)

    def _put(self, asked: _Asked) -> _Question:
        question = self._under_way[asked] = _Question(asked, self._loop.create_future())
        # Queue it in the loop's next turn: by then `waiting` counts the caller.
        self._loop.call_soon(self._queue.put, question)
        return question

    def _forget(self, question: _Question) -> None:
        """Let no further caller join this lookup."""
        if self._under_way.get(question.asked) is question:
            del self._under_way[question.asked]

    def _serve(self) -> None:
        while True:
            question, found, error = self._queue.get(), list[Any](), None
            if not question.waiting:  # it was forgotten before it began, so nobody will join
                continue
            question.begun = True
            try:
                found = socket.getaddrinfo(*question.asked)
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._settle, question, found, error)

    def _settle(self, question: _Question, found: list[Any], error: Exception | None) -> None:
        self._forget(question)
        if error is None:
            question.answer.set_result(found)
        else:
            question.answer.set_exception(error)
            question.answer.exception()  # if nobody waits, asyncio must not log it as unread


def look_up_apart(loop: asyncio.AbstractEventLoop) -> None:
    """Make everything that connects in this loop look names up here. Raises RuntimeError if no
    thread can be started."""
    loop.getaddrinfo = Lookups(loop).getaddrinfo  # type: ignore[method-assign]
