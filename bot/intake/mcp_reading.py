"""What comes over MCP is read as strictly as at the HTTP door: the SDK would repair it unasked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp import types
from mcp.server.context import (
    CallNext,
    HandlerResult,
    ServerMiddleware,
    ServerRequestContext,
)
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from bot.intake.http.bodies import LARGEST_CALL_BYTES
from lifecycle.answers import Answer
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import MAX_DEPTH, read_object

Context = ServerRequestContext[Any, Any]
#: The answer to a message that cannot be read strictly, None where it can.
Judge = Callable[[Context], Awaitable[Answer | None]]

#: A document lies in the arguments, these in the parameters, and these in the message.
_AROUND: Final = 3
_NO_MESSAGE: Final = Fault(
    "wrong_type",
    required="a message of JSON-RPC 2.0",
    suggestion='Send a message of JSON-RPC 2.0: "jsonrpc" is "2.0", "method" a text, and "params" '
    "an object.",
)
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
    if is_unanswerable(message):
        return Refused([_NO_ID])
    return None if _is_message(message) else Refused([_NO_MESSAGE])


def refused_at_once(raw: bytes, flaw: Refused) -> types.JSONRPCError | None:
    """Return the answer to what is no message at all, None where the SDK can have it judged.

    The SDK would tell its sender over HTTP how it is built, and over standard input nothing.
    """
    body = repaired(raw)
    message = json.loads(body) if body is not None else {}
    if body is not None and not is_unanswerable(message) and _is_message(message):
        return None
    code = types.PARSE_ERROR if body is None else types.INVALID_REQUEST
    asked_id = None if is_unanswerable(message) else message.get("id")
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=asked_id if isinstance(asked_id, int | str) else None,
        error=types.ErrorData(code=code, message=f"{flaw.code}: {flaw}"),
    )


def _is_message(message: Mapping[str, Any]) -> bool:
    """Say whether the SDK takes an object for a message of JSON-RPC."""
    try:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return False
    return True


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
