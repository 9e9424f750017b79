"""The MCP door offers its tools over the HTTP door: on the same port and on standard input."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, cast
from urllib.parse import urlsplit

import anyio
import httpx
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.client import Signoff, SignoffRefused, SignoffUnreachable
from bot.intake.http.bodies import LARGEST_CALL_BYTES
from bot.intake.http.places import PLACE
from bot.intake.mcp_lines import Answers, Lines
from bot.intake.mcp_reading import Judge, strictly
from bot.intake.mcp_tools import TOOLS, misfit
from lifecycle.codes import retry_of
from lifecycle.located import located

_Context = ServerRequestContext[Any, Any]
Session = Callable[[_Context], AbstractAsyncContextManager[Signoff]]

log = logging.getLogger("signoff.http")

_LOCAL: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")
_INSTRUCTIONS: Final = (
    "Propose what you want done; people sign off. Call list_tools, then propose, then wait. A tool "
    "of kind agent hands you a permit: redeem it with exactly the proposed parameters, act, and "
    "report. An error says whether to try again: never, after_change or later."
)


def mcp_server(session: Session, version: str, judge: Judge) -> Server[Any]:
    """Return a server whose calls go through the session of the caller.

    A call to which `judge` objects is not made.
    """

    async def list_tools(
        _context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool for tool, _ in TOOLS.values()])

    async def call_tool(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await _called(session, context, params.name, params.arguments or {})

    server: Server[Any] = Server(
        "signoff",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(strictly(judge, lambda answer: _failed(answer.as_json())))
    return server


def over_http(
    inner: ASGIApp, public_url: str, version: str, judge: Judge
) -> StreamableHTTPSessionManager:
    """Return the door at /mcp; each call speaks with the caller's own token to `inner`."""

    def session(context: _Context) -> AbstractAsyncContextManager[Signoff]:
        sent = context.request.headers.get("authorization", "") if context.request else ""
        token = sent[7:].strip() if sent.lower().startswith("bearer ") else ""
        app = _beside(context.request, inner) if context.request else inner
        # Errors within are answered there, and tell no more than those of any door.
        inside = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        return Signoff("http://signoff", token, transport=inside)

    # Its warnings are about what agents send, and could fill the log.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    place = urlsplit(public_url)
    hosts = [*_LOCAL, place.netloc, f"{place.hostname}:*"]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return StreamableHTTPSessionManager(
        mcp_server(session, version, judge),
        json_response=True,
        stateless=True,
        max_request_body_size=LARGEST_CALL_BYTES,
        security_settings=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )


def _beside(outer: Request, inner: ASGIApp) -> ASGIApp:
    """Return `inner` for a call within another request: if that client has left, this call ends,
    too."""

    place = {PLACE: True} if PLACE in outer.scope else {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        whole = False

        async def either() -> Message:
            nonlocal whole
            if whole:
                return await outer.receive()
            message = await receive()
            whole = not message.get("more_body", False)
            return message

        await inner({**scope, **place}, either, send)

    return app


async def over_stdio(url: str, token: str, version: str) -> None:
    """Serve on standard input and output until the input ends and what came before that is
    answered, as a client of the bot at `url`."""
    lines = Lines()
    server = mcp_server(lambda _context: Signoff(url, token), version, lines.judge)
    # The SDK only iterates over the lines of its input.
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.answered_by(writing.send)
        answers = Answers(writing, lines)
        await server.run(reading, answers, server.create_initialization_options())


async def _called(
    session: Session, context: _Context, name: str, arguments: Mapping[str, Any]
) -> types.CallToolResult:
    found = TOOLS.get(name)
    if found is None:
        return _refused("unknown_tool", f"Tools: {', '.join(TOOLS)}.")
    tool, run = found
    problem = misfit(tool.input_schema, arguments)
    if problem:
        return _refused("invalid_parameter", problem)
    try:
        async with session(context) as signoff:
            return _told(await run(signoff, arguments))
    except SignoffRefused as error:
        return _failed(error.answer)
    except SignoffUnreachable as error:
        # This is no answer of Signoff, so that none of its codes fits.
        words = str(error) if error.maybe_done else f"{error} Call again later."
        raise MCPError(types.INTERNAL_ERROR, words) from error
    except Exception as error:  # the library would tell the agent its words
        log.error("a call of %s failed: %s", name, located(error))
        raise MCPError(types.INTERNAL_ERROR, "The bot met an error it does not know.") from None


def _refused(code: str, words: str) -> types.CallToolResult:
    return _failed({"reason": code, "detail": words, "retry": retry_of(code).value})


def _told(content: Any, *, failed: bool = False) -> types.CallToolResult:
    text = json.dumps(content, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=content,
        is_error=failed,
    )


def _failed(answer: Mapping[str, Any]) -> types.CallToolResult:
    """Return what an agent can act on: the code, the words, every error, and whether to retry."""
    return _told(
        {
            "reason": answer.get("reason"),
            "explanation": answer.get("detail") or answer.get("explanation"),
            "errors": answer.get("errors", []),
            "retry": answer.get("retry"),
            "retry_after_s": answer.get("retry_after_s"),
            **{key: answer[key] for key in ("proposal_id", "state", "result") if key in answer},
        },
        failed=True,
    )
