"""Speak HTTP/1.1 as uvicorn does, but hang up on clients that send or read too slowly."""

from __future__ import annotations

import asyncio
import resource
import sys
from http import HTTPStatus
from typing import Any, Final
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from bot.intake.http.problems import problem

#: How long a client may take until the whole head of its next request has come.
_HEAD_S: Final = 10.0
#: Within this time a client must take its whole answer, or at least this much of it.
_UNREAD_S: Final = 30.0
_LEAST_READ_BYTES: Final = 16 * 1024
#: How long it may take while the bot ends. uvicorn would wait longer, and write a traceback.
_LEAVE_S: Final = 1.0

#: The most connections, however many descriptors there are.
_MOST_CONNECTIONS: Final = 4096
_BACKLOG: Final = 128
#: So much of later messages is read ahead while one is answered. It is heard only as long as one
#: reads on if the client hangs up.
_AHEAD_BYTES: Final = 64 * 1024
#: The states of h11 in which no part of the answer has been sent.
_NOT_ANSWERED: Final = (h11.IDLE, h11.SEND_RESPONSE)
#: The statuses that h11 gives broken messages, and our words; any other is 400.
_BROKEN: Final = {
    431: "The head of this message is longer than 16 KiB: send less in it.",
    501: "The body may come whole or in chunks, and in no other Transfer-Encoding.",
}
_NO_HTTP: Final = "This is no HTTP/1.1 message: its head or its body is malformed."


def most_connections() -> int:
    """Return how many connections may be open at once: half of the descriptors of this process.

    The other half is for the store, the chat platforms, the tools, and connections being refused.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = files == resource.RLIM_INFINITY
    return _MOST_CONNECTIONS if unlimited else min(_MOST_CONNECTIONS, files // 2)


def backlog() -> int:
    """Return how many connections may wait to be accepted.

    All of them are accepted in one turn of the loop, before the first of them can be refused.
    """
    return max(8, min(_BACKLOG, most_connections() // 4))


def last_words(status: int, detail: str, **members: Any) -> bytes:
    """Return a problem document as the bytes of the last answer on a connection."""
    answer = problem(status, detail, headers={"Connection": "close"}, **members)
    head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    head += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*head, b"", bytes(answer.body)])


#: For each server the connections that may be hung up on, in the order in which that became so.
_GIVING_WAY: Final[WeakKeyDictionary[ServerState, dict[PromptProtocol, None]]] = WeakKeyDictionary()
#: The answer to a connection for which there is no place.
FULL: Final = last_words(503, "Too many connections are open: try again soon.", retry_after_s=5)


class PromptProtocol(H11Protocol):
    """Hangs up on clients that take too long over a head, or do not take their answer.

    uvicorn waits for both without end. A few hundred connections, which need no token, would use up
    all descriptors of the bot, and it could neither hear nor write anything any more. If there are
    too many connections, the newest takes the place of the oldest that asks for nothing or does not
    take its answer; if all are at work, the newest is refused.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Start without timers."""
        super().__init__(*args, **options)
        self._hanging_up: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._behind_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._giving_way = _GIVING_WAY.setdefault(self.server_state, {})
        if len(self.connections) > most_connections() and not self._one_gave_way():
            transport.write(FULL)  # the first bytes of a connection always fit
            transport.close()
            return
        # Writing pauses as soon as the client's side is full, and goes on once all is taken.
        transport.set_write_buffer_limits(high=0)
        self._wait()
        self._note_giving_way()

    def data_received(self, data: bytes) -> None:
        """Take what came; a whole head ends the wait.

        What follows the last message of a connection is no message (RFC 9112, 9.6): h11 would call
        the message before it broken, while that is being carried out. Whoever sends much of it is
        hung up on.
        """
        if self._answering() and self.conn.their_state is h11.MUST_CLOSE:
            self._behind_bytes += len(data)
            if self._behind_bytes > _AHEAD_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        self._note_giving_way()
        if self._answering():
            self._wait_no_more()
        elif self._hanging_up is None:
            self._wait()

    def handle_events(self) -> None:
        """Read on while a whole message is answered: uvicorn reads no more once another follows,
        and would not hear that the client has hung up."""
        super().handle_events()
        if self._answering() and not self.cycle.more_body and not self._is_far_ahead():
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """Note that it may be hung up on until the next message comes."""
        super().on_response_complete()
        self._note_giving_way()

    def send_400_response(self, msg: str) -> None:
        """Tell a client that its message is broken, and hang up.

        It is not told in the middle of an answer or after one: what follows a broken body is no
        message.
        """
        if self.conn.our_state in _NOT_ANSWERED:
            status = getattr(sys.exception(), "error_status_hint", 400)
            status = status if status in _BROKEN else 400
            self.transport.write(last_words(status, _BROKEN.get(status, _NO_HTTP)))
        if self._answering():
            self.cycle.disconnected = True  # it waits for a body that never comes whole
            self.cycle.message_event.set()
        self.transport.close()

    def pause_writing(self) -> None:
        """Watch from now on whether the client takes what is written."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())
        self._note_giving_way()

    def resume_writing(self) -> None:
        """Stop watching: all is taken."""
        self._watch_no_more()
        self._note_giving_way()
        super().resume_writing()

    def shutdown(self) -> None:
        """End when the bot does; what is under way may come or go for a moment more."""
        super().shutdown()
        if self._unread is not None or (self._answering() and self.cycle.more_body):
            self.loop.call_later(_LEAVE_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._wait_no_more()
        self._watch_no_more()
        self._giving_way.pop(self, None)
        super().connection_lost(exc)

    def _note_giving_way(self) -> None:
        """Note since when this one may be hung up on; forget it once it is at work."""
        if self._unread is not None or not self._answering():
            self._giving_way.setdefault(self)
        else:
            self._giving_way.pop(self, None)

    def _one_gave_way(self) -> bool:
        """Hang up on the one that has asked for, or taken, nothing for the longest time."""
        oldest = next(iter(self._giving_way), None)
        if oldest is None:
            return False
        del self._giving_way[oldest]
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True

    def _is_far_ahead(self) -> bool:
        ahead, _ = self.conn.trailing_data
        return len(ahead) >= _AHEAD_BYTES

    def _wait(self) -> None:
        self._hanging_up = self.loop.call_later(_HEAD_S, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _hang_up(self) -> None:
        self._hanging_up = None
        if not self._answering():
            self.transport.close()

    def _watch(self, left_bytes: int) -> None:
        self._watch_no_more()
        self._unread = self.loop.call_later(_UNREAD_S, self._look, left_bytes)

    def _watch_no_more(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _look(self, left_bytes: int) -> None:
        """Cut off a client that took next to nothing; an orderly close would wait for ever."""
        now_left_bytes = self.transport.get_write_buffer_size()
        if left_bytes - now_left_bytes < _LEAST_READ_BYTES:
            self.transport.abort()
        else:
            self._watch(now_left_bytes)

    def _answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn's types say
        return cycle is not None and not cycle.response_complete
