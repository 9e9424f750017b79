"""Read MCP over standard input: a line is a message, and each of them gets an answer."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse

from bot.intake.mcp_reading import Context, flaw_of, refused_at_once, repaired
from bot.process.inlet import Inlet
from lifecycle.answers import Answer, refusal
from lifecycle.errors import Refused

_Answered = Callable[[SessionMessage], Awaitable[None]]
#: The key in the `_meta` of a flawed message for the mark under which its flaw is noted.
_MARK: Final = "signoff/flaw"
#: For so many seconds after the end of the input what was asked before is still answered.
_LAST_ANSWERS_S: Final = 10.0


class Lines:
    """Standard input line by line, as the SDK takes it; flaws of a line are noted.

    A line that is no message at all is answered here: the SDK would skip it, and its sender would
    wait.
    """

    def __init__(self) -> None:
        """Begin with nothing wrong; needs a running loop."""
        self._inlet = Inlet(sys.stdin.fileno())
        #: By a mark that nobody can guess. By its id, another message with the same id would be
        #: refused in its place, and the flawed one acted on.
        self._flaws: dict[str, Refused] = {}
        self._answered: asyncio.Future[_Answered] = asyncio.Future()
        #: How many messages with an id are to be answered yet.
        self._owed: Counter[str] = Counter()
        self._all_told = asyncio.Event()

    def told(self, message: SessionMessage) -> None:
        """Note that a message was handed out: it may be an answer to one of those that came in."""
        if isinstance(message.message, JSONRPCResponse | JSONRPCError):
            self._settle(message.message.id)

    def answered_by(self, send: _Answered) -> None:
        """Take the function that sends answers; nothing is read before that."""
        self._answered.set_result(send)

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield every message as text."""
        send = await self._answered
        async for line in self._lines():
            flaw = flaw_of(line) if line.strip() else None
            refused = refused_at_once(line, flaw) if flaw else None
            if refused is not None:
                try:
                    await send(SessionMessage(refused))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return  # nobody serves any more
            elif line.strip():
                text = self._flawed(line, flaw) if flaw else line.decode()
                self._note(json.loads(text))
                yield text
        await self._last_answers()

    async def _last_answers(self) -> None:
        """Wait until all is answered, but not for ever: the SDK cancels what it has not answered
        when its input ends, and an agent that is told so cannot know what it began."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_ANSWERS_S):
                while self._owed.total():
                    self._all_told.clear()
                    await self._all_told.wait()

    def _note(self, message: dict[str, Any]) -> None:
        """Note what a message asks for; whoever cancels a call gets no answer to it."""
        params = message.get("params")
        if "method" not in message:
            return
        if "id" in message:
            self._owed[str(message["id"])] += 1
        elif message["method"] == "notifications/cancelled" and isinstance(params, dict):
            self._settle(params.get("requestId"))

    def _settle(self, asked_id: object) -> None:
        self._owed -= Counter([str(asked_id)])  # which keeps no entry that has come to nothing
        self._all_told.set()

    async def judge(self, context: Context) -> Answer | None:
        """Return the answer to a message whose line has a flaw; None if it has none."""
        meta = (context.params or {}).get("_meta")
        mark = meta.get(_MARK) if isinstance(meta, dict) else None
        flaw = self._flaws.pop(mark, None) if isinstance(mark, str) else None
        return refusal(flaw) if flaw is not None else None

    async def _lines(self) -> AsyncIterator[bytes]:
        """Yield every line without its end; the last one may lack it."""
        held: list[bytes] = []
        while chunk := await self._inlet.next():
            *whole, rest = chunk.split(b"\n")
            for end in whole:
                yield b"".join((*held, end))
                held = []
            held.append(rest)
        yield b"".join(held)

    def _flawed(self, line: bytes, flaw: Refused) -> str:
        """Note the flaw of a line; return the line in a form that the SDK can read, with the mark
        of its flaw."""
        message: dict[str, Any] = json.loads(repaired(line) or b"{}")
        params = message.get("params") or {}
        # With parameters that are no object the SDK takes it for an answer, which begins nothing.
        asks = "method" in message and isinstance(params, dict)
        if asks and isinstance(message.get("id"), int | str):
            mark = secrets.token_hex(16)
            meta = params.get("_meta")
            kept = meta if isinstance(meta, dict) else {}
            message["params"] = {**params, "_meta": {**kept, _MARK: mark}}
            self._flaws[mark] = flaw
        return json.dumps(message, ensure_ascii=False)


class Answers:
    """The stream on which the SDK hands out its answers, watched by `lines`."""

    def __init__(self, stream: Any, lines: Lines) -> None:
        """Stand before the `stream` of the SDK."""
        self._stream, self._lines = stream, lines

    async def send(self, message: SessionMessage) -> None:
        """Hand a message out, and note it."""
        await self._stream.send(message)
        self._lines.told(message)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Answers:
        """Enter the stream."""
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        """Leave the stream, which closes it."""
        left: bool | None = await self._stream.__aexit__(*raised)
        return left
