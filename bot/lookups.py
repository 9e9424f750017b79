"""Names are looked up on threads of their own: a name server that does not answer holds up no other
work, nor the end.

Nobody can take back a lookup, and the system waits half a minute and more for an answer. On the
loop's own pool a few of them kept a ❌ from discarding a draft, for so long that nobody knew what
had become of it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

#: So many names may be without an answer before the next one waits.
_THREADS: Final = 8


class _Asked(NamedTuple):
    """What the system is asked; the order is that of `socket.getaddrinfo`."""

    host: Any
    port: Any
    family: int
    type: int
    proto: int
    flags: int


class _Question:
    """What is asked, the answer to it, how many wait for that, and whether a thread looks it up."""

    __slots__ = ("answer", "asked", "begun", "waiting")

    def __init__(self, asked: _Asked, answer: asyncio.Future[Any]) -> None:
        self.asked, self.answer = asked, answer
        self.begun, self.waiting = False, 0


class Lookups:
    """Serves one loop. Whoever asks what was asked already waits for that very answer: twenty calls
    of one server take one thread. What nobody waits for any more before its turn has none: calls
    that end and come again would else always stand before a platform that can be found.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start every thread at once. Raises RuntimeError where that cannot be."""
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
        """Do as the loop's own does. Raises OSError, and ValueError for what cannot be a name."""
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
        # On the loop's next turn: by then it is waited for.
        self._loop.call_soon(self._queue.put, question)
        return question

    def _forget(self, question: _Question) -> None:
        """Let nobody join it any more."""
        if self._under_way.get(question.asked) is question:
            del self._under_way[question.asked]

    def _serve(self) -> None:
        while True:
            question, found, error = self._queue.get(), list[Any](), None
            if not question.waiting:  # nor will anybody: it was forgotten before it was begun
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
            question.answer.exception()  # nobody may wait any more


def look_up_apart(loop: asyncio.AbstractEventLoop) -> None:
    """Let whatever connects in this loop look names up so. Raises RuntimeError for no thread."""
    loop.getaddrinfo = Lookups(loop).getaddrinfo  # type: ignore[method-assign]
