"""What comes over MCP is read as strictly as at the HTTP door: the SDK would repair it unasked."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
from mcp import types
from mcp.server.context import (
    CallNext,
    HandlerResult,
    ServerMiddleware,
    ServerRequestContext,
)
from mcp.shared.exceptions import MCPError

from bot.intake.http.bodies import LARGEST_CALL_BYTES
from lifecycle.answers import Answer, refusal
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import MAX_DEPTH, read_object

Context = ServerRequestContext[Any, Any]
#: The answer to a message that cannot be read strictly, None where it can.
Judge = Callable[[Context], Awaitable[Answer | None]]

#: A document lies in the arguments, these in the parameters, and these in the message.
_AROUND: Final = 3
_NO_ID: Final = Fault(
    "wrong_type", "id", suggestion="The id of a message is a string or a whole number."
)


def strictly(judge: Judge, told: Callable[[Answer], HandlerResult]) -> ServerMiddleware[Any]:
    """Let nothing be called whose message `judge` objects to; a tool's call is `told` so."""

    async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
        answer = await judge(ctx) if ctx.request_id is not None else None
        if answer is None:
            return await call_next(ctx)
        if ctx.method == "tools/call":
            return told(answer)
        raise MCPError(types.PARSE_ERROR, f"{answer.reason}: {answer.explanation}")

    return middleware


def flaw_of(raw: bytes) -> Refused | None:
    """Return why a message is not what it strictly should be, None where nothing is wrong."""
    try:
        message = read_object(raw, limit_bytes=LARGEST_CALL_BYTES, max_depth=MAX_DEPTH + _AROUND)
    except Refused as error:
        return error
    return Refused([_NO_ID]) if is_unanswerable(message) else None


def is_unanswerable(message: Mapping[str, Any]) -> bool:
    """Say whether a message asks for an answer under an id that is none in MCP.

    The SDK would take it for a notification, say that it was accepted, and do nothing.
    """
    asked_id = message.get("id")
    known = isinstance(asked_id, int | str) and not isinstance(asked_id, bool)
    return "method" in message and "id" in message and not known


def repaired(raw: bytes) -> bytes | None:
    """Return a flawed object as the SDK can read it, so that it is answered and never acted on.

    None for what is no object, however kindly one reads it.
    """
    try:
        message = json.loads(raw.decode("utf-8", "replace"))
        text = json.dumps(message, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return text.encode("utf-8", "replace") if isinstance(message, dict) else None


class Lines:
    """Standard input a line at a time, as the SDK takes it; what is wrong with one is noted."""

    def __init__(self) -> None:
        """Begin with nothing wrong."""
        self._flaws: dict[types.RequestId, Refused] = {}

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield every line as text."""
        async for line in anyio.wrap_file(sys.stdin.buffer):
            flaw = flaw_of(line)
            yield self._flawed(line, flaw) if flaw else line.decode()

    async def judge(self, context: Context) -> Answer | None:
        """Return the answer to a message of which a line was noted."""
        flaw = self._flaws.pop(context.request_id, None) if context.request_id is not None else None
        return refusal(flaw) if flaw is not None else None

    def _flawed(self, line: bytes, flaw: Refused) -> str:
        """Note what is wrong with a line; return it as something that the SDK can read."""
        body = repaired(line)
        if body is None:
            return line.decode("utf-8", "replace")  # the SDK passes over it
        message = json.loads(body)
        asked_id = message.get("id")
        if "method" in message and isinstance(asked_id, int | str):
            self._flaws[asked_id] = flaw
        return body.decode() + "\n"
