"""The MCP door: seven tools over the HTTP door, on the same port and over standard input."""

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
from bot.intake.http.places import PLACE
from bot.intake.mcp_reading import Judge, Lines, strictly
from lifecycle.codes import retry_of
from lifecycle.located import located
from lifecycle.schema import proposal_schema

_Context = ServerRequestContext[Any, Any]
Session = Callable[[_Context], AbstractAsyncContextManager[Signoff]]
_Run = Callable[[Signoff, Mapping[str, Any]], Any]

log = logging.getLogger("signoff.http")

_LARGEST_BYTES: Final = 1024 * 1024
_LONGEST_WAIT_S: Final = 300
_USUAL_WAIT_S: Final = 60
_LOCAL: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")
_ID: Final = {"type": "string", "pattern": r"^(?!\.+$)[A-Za-z0-9._-]{1,64}$"}
_INSTRUCTIONS: Final = (
    "Propose what you want done; people sign off. Call list_tools, then propose, then wait. A tool "
    "of kind agent hands you a permit: redeem it with exactly the proposed parameters, act, and "
    "report. An error says whether to try again: never, after_change or later."
)


def mcp_server(session: Session, version: str, judge: Judge | None = None) -> Server[Any]:
    """Return a server whose calls go through the session of whoever calls.

    What `judge` objects to is not called.
    """

    async def list_tools(
        _context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool for tool, _ in _TOOLS.values()])

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
    if judge is not None:
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
        # What goes wrong in there is answered there, with as little of it as everywhere.
        inside = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        return Signoff("http://signoff", token, transport=inside)

    # Its warnings are of what agents send: they could fill the log.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    place = urlsplit(public_url)
    hosts = [*_LOCAL, place.netloc, f"{place.hostname}:*"]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return StreamableHTTPSessionManager(
        mcp_server(session, version, judge),
        json_response=True,
        stateless=True,
        max_request_body_size=_LARGEST_BYTES,
        security_settings=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )


def _beside(outer: Request, inner: ASGIApp) -> ASGIApp:
    """Return `inner` for a call within another: whoever leaves that one has left this one, too."""

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
    """Serve on standard input and output until the input ends, as a client of the bot at `url`."""
    lines = Lines()
    server = mcp_server(lambda _context: Signoff(url, token), version, lines.judge)
    # The SDK goes through its input line by line, and asks no more of it.
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def _called(
    session: Session, context: _Context, name: str, arguments: Mapping[str, Any]
) -> types.CallToolResult:
    found = _TOOLS.get(name)
    if found is None:
        return _refused("unknown_tool", f"Tools: {', '.join(_TOOLS)}.")
    tool, run = found
    problem = _misfit(tool.input_schema, arguments)
    if problem:
        return _refused("invalid_parameter", problem)
    try:
        async with session(context) as signoff:
            return _told(await run(signoff, arguments))
    except SignoffRefused as error:
        return _failed({"reason": error.reason} | error.answer)
    except SignoffUnreachable as error:
        # Trouble on the way there is no answer of Signoff's: no code of its list says it.
        raise MCPError(types.INTERNAL_ERROR, f"{error} Call again later.") from error
    except Exception as error:  # which the library would tell the agent, word by word
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


def _misfit(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the names and plain types of arguments; documents judge themselves."""
    known: Mapping[str, Any] = schema["properties"]
    strange = sorted(arguments.keys() - known.keys())
    missing = sorted(set(schema.get("required", ())) - arguments.keys())
    if strange or missing:
        return f"Needed: {', '.join(schema.get('required', ())) or 'nothing'}. Known: " + (
            f"{', '.join(known) or 'nothing'}."
        )
    for name, value in arguments.items():
        python = _TYPES[known[name]["type"]]
        if not isinstance(value, python) or isinstance(value, bool):
            return f"{name} must be of type {known[name]['type']}."
    return None


_TYPES: Final[Mapping[str, type]] = {"string": str, "object": dict, "integer": int}


async def _list_tools(signoff: Signoff, _given: Mapping[str, Any]) -> Any:
    return {"advisory": True, "tools": await signoff.tools()}


async def _propose(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.propose(given["document"])


async def _proposal(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.proposal(str(given["proposal_id"]))


async def _wait(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    seconds = max(1, min(_LONGEST_WAIT_S, given.get("timeout_s", _USUAL_WAIT_S)))
    try:
        return await signoff.wait(str(given["proposal_id"]), timeout_s=seconds)
    except TimeoutError:
        return await _proposal(signoff, given)  # its state says that it still waits


async def _withdraw(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.withdraw(str(given["proposal_id"]))


async def _redeem(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.redeem(str(given["proposal_id"]), given["permit"], given["parameters"])


async def _report(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.report(str(given["proposal_id"]), given["outcome"], given.get("receipt"))


def _tool(name: str, words: str, properties: dict[str, Any], *optional: str) -> types.Tool:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }
    return types.Tool(name=name, description=words, input_schema=schema)


def _document() -> dict[str, Any]:
    schema = proposal_schema()
    schema.pop("$schema")
    defs = schema.pop("$defs")
    return {"type": "object", "description": "A Proposal.", "$defs": defs, **schema} | {
        "$id": "urn:signoff:proposal"
    }


_ONE: Final = {"proposal_id": _ID}
_TOOLS: Final[dict[str, tuple[types.Tool, _Run]]] = {
    "list_tools": (
        _tool("list_tools", "List what can be proposed. To be listed is no permission.", {}),
        _list_tools,
    ),
    "propose": (
        _tool("propose", "Propose one action; people or rules decide.", {"document": _document()}),
        _propose,
    ),
    "proposal": (_tool("proposal", "Show one of your proposals.", dict(_ONE)), _proposal),
    "wait": (
        _tool(
            "wait",
            "Wait until a proposal of yours has ended, its permit waits for you, or the time is "
            "over; then show it. While it is open, call wait again.",
            _ONE | {"timeout_s": {"type": "integer", "minimum": 1, "maximum": _LONGEST_WAIT_S}},
            "timeout_s",
        ),
        _wait,
    ),
    "withdraw": (_tool("withdraw", "Take your proposal back.", dict(_ONE)), _withdraw),
    "redeem": (
        _tool(
            "redeem",
            "Use up a permit with exactly the proposed parameters; act only after that.",
            _ONE | {"permit": {"type": "string"}, "parameters": {"type": "object"}},
        ),
        _redeem,
    ),
    "report": (
        _tool(
            "report",
            "Report what you did under a permit; failed means nothing was left behind.",
            _ONE
            | {
                "outcome": {"type": "string", "enum": ["done", "failed"]},
                "receipt": {"type": "object"},
            },
            "receipt",
        ),
        _report,
    ),
}
