"""Read messages of MCP as strictly as the HTTP door does; the SDK would repair them silently."""

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
#: Returns the answer to a message that cannot be read strictly, None if it can.
Judge = Callable[[Context], Awaitable[Answer | None]]

#: The levels around a document: it is in the arguments, in the parameters, in the message.
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
    """Return a middleware that makes no call whose message `judge` objects to.

    `told` makes the result of a tool's call from the objection.
    """

    async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
        answer = await judge(ctx) if ctx.request_id is not None else None
        if answer is None:
            return await call_next(ctx)
        if ctx.method == "tools/call":
            return told(answer)
        raise MCPError(types.PARSE_ERROR, f"{answer.reason}: {answer.explanation}")

    return middleware


def flaw_of(raw: bytes) -> Refused | None:
    """Return why a message is not strictly well-formed, None if it is."""
    try:
        message = read_object(raw, limit_bytes=LARGEST_CALL_BYTES, max_depth=MAX_DEPTH + _AROUND)
    except Refused as error:
        return error
    if _is_unanswerable(message):
        return Refused([_NO_ID])
    return None if _is_message(message) else Refused([_NO_MESSAGE])


def refused_at_once(raw: bytes, flaw: Refused) -> types.JSONRPCError | None:
    """Return the answer to what is no message at all, None if the SDK can have it judged.

    The SDK would tell its sender over HTTP about its inside, and over standard input nothing.
    """
    body = repaired(raw)
    message = json.loads(body) if body is not None else {}
    if not _is_unanswerable(message) and _is_message(message):
        return None
    code = types.PARSE_ERROR if body is None else types.INVALID_REQUEST
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=_id_of(message),
        error=types.ErrorData(code=code, message=f"{flaw.code}: {flaw}"),
    )


def _is_message(message: Mapping[str, Any]) -> bool:
    """Return True if the SDK takes the object for a message of JSON-RPC."""
    try:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return False
    return True


def _is_unanswerable(message: Mapping[str, Any]) -> bool:
    """Return True if a message asks for an answer under an id that MCP does not allow.

    The SDK would take it for a notification, report it as accepted, and do nothing.
    """
    return "method" in message and "id" in message and _id_of(message) is None


def _id_of(message: Mapping[str, Any]) -> int | str | None:
    """Return the id of a message, None if it has none, or one that MCP does not allow."""
    asked_id = message.get("id")
    known = isinstance(asked_id, int | str) and not isinstance(asked_id, bool)
    return asked_id if known else None


def repaired(raw: bytes) -> bytes | None:
    """Return a flawed object in a form that the SDK can read, so that it is answered, never acted
    on.

    None for what is no object, however leniently it is read.
    """
    try:
        message = json.loads(raw.decode("utf-8", "replace"))
        text = json.dumps(message, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return text.encode("utf-8", "replace") if isinstance(message, dict) else None
