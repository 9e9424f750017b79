"""Build the application: routes from the table, and one place that turns errors into problems."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from http import HTTPStatus
from typing import Final, TypeVar

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.intake.http.auth import stranger
from bot.intake.http.bodies import BodyPacked, BodyTooSlow
from bot.intake.http.door import Door, is_agent
from bot.intake.http.openapi import openapi
from bot.intake.http.operations import Operation
from bot.intake.http.places import AGAIN_S, Crowded
from bot.intake.http.problems import problem, refused_problem, unauthorized
from bot.intake.http.queries import QueryWrong
from bot.intake.http.statuses import refusal_status
from bot.intake.http.table import OPERATIONS
from bot.intake.http.waiting import ENDING, BotEnds
from bot.version import signoff_version
from lifecycle.answers import Sender
from lifecycle.errors import Refused
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable

T = TypeVar("T")

log = logging.getLogger("signoff.http")

#: What sources may do besides recording evidence.
_FOR_SOURCES: Final = frozenset({"evidence", "tools", "policy", "schema", "whoami"})
#: Operations that refuse strangers and sources themselves, and write that into the trail.
_ASKS_ITSELF: Final = frozenset({"submit"})
#: Operations other than GET whose answer holds what a tool said.
_TELLS_RESULTS: Final = frozenset({"submit"})
#: Operations that everybody gets at once, however many other requests there are.
_ALWAYS: Final = frozenset({"health"})


Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def application(
    door: Door, more: Sequence[BaseRoute] = (), lifespan: Lifespan | None = None
) -> Starlette:
    """Return the application; `more` are the routes of the doors beside this one."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes: list[BaseRoute] = [
        Route(path, _endpoint(door, methods), methods=list(methods))
        for path, methods in by_path.items()
    ]
    routes.append(Route("/openapi.json", _described(door), methods=["GET"]))
    app = Starlette(
        routes=[*routes, *more],
        lifespan=lifespan,
        exception_handlers={HTTPException: _told, Exception: _unexpected},
    )
    # A redirect would name the host that the client claims to have asked.
    app.router.redirect_slashes = False
    return app


def _described(door: Door) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_incoming: Request) -> Response:
        return Response(_document(door.public_url), media_type="application/json")

    return endpoint


@lru_cache(maxsize=4)
def _document(public_url: str) -> bytes:
    """Return the OpenAPI document; cached, as anybody may ask for it as often as they like."""
    return orjson.dumps(openapi(OPERATIONS, public_url, signoff_version()))


def _endpoint(
    door: Door, methods: dict[str, Operation]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(incoming: Request) -> Response:
        method = "GET" if incoming.method == "HEAD" else incoming.method
        return await carried_out(door, lambda: _run(door, methods[method], incoming))

    return endpoint


async def _run(door: Door, operation: Operation, incoming: Request) -> Response:
    sender = door.sender(incoming)
    asks_itself = operation.name in _ASKS_ITSELF
    if operation.open_to_all or (sender is None and asks_itself):
        return await _for_anybody(door, operation, incoming)
    if sender is None:
        return unauthorized()
    if not (is_agent(sender) or asks_itself or operation.name in _FOR_SOURCES):
        words = "Sources record evidence; they have no proposals."
        return problem(403, words, code="unknown_agent")
    with door.places.place(incoming, sender):
        return await _in_place(door, operation, incoming, sender)


async def _for_anybody(door: Door, operation: Operation, incoming: Request) -> Response:
    """Carry out an operation that needs no token; all who ask for one count as one sender."""
    anybody = stranger()
    if operation.name in _ALWAYS:
        return await operation.run(door, incoming, anybody)
    with door.places.place(incoming, anybody):
        return await operation.run(door, incoming, anybody)


async def _in_place(
    door: Door, operation: Operation, incoming: Request, sender: Sender
) -> Response:
    async with door.turns.turn(incoming, sender):
        if not door.speaks(incoming, sender):
            return unauthorized()  # removed while it waited for its turn
        answer = await operation.run(door, incoming, sender)
    if door.speaks(incoming, sender):
        return answer
    # The sender was removed meanwhile, and gets no permit or result; but it hears what was done.
    held_back = operation.method == "GET" or operation.name in _TELLS_RESULTS
    return unauthorized() if held_back or answer.status_code >= 400 else answer


async def carried_out(door: Door, run: Callable[[], Awaitable[T]]) -> T | Response:
    """Carry out an operation; return what it raises as a problem document.

    While the bot ends, so is a cancellation; any other cancellation is passed on.
    """
    try:
        return await _answered(run)
    except (BotEnds, asyncio.CancelledError):
        if not door.ends():
            raise
        return problem(503, ENDING, code="audit_unavailable")
    except HTTPException:
        raise  # `_told` answers it
    except Exception as error:  # raised, it would be logged with its words
        return _unknown(error)


async def _answered(run: Callable[[], Awaitable[T]]) -> T | Response:
    try:
        return await run()
    except Refused as error:
        return refused_problem(refusal_status(error.code), error)
    except QueryWrong as error:
        return problem(400, str(error), code="wrong_type")
    except Crowded as error:
        return problem(429, str(error), code="rate_limited", retry_after_s=AGAIN_S)
    except BodyTooSlow:
        return problem(408, "The body did not arrive in time.", headers={"Connection": "close"})
    except BodyPacked:
        words = "Send the body as it is, without Content-Encoding."
        return problem(415, words, headers={"Accept-Encoding": "identity"})
    except StoreUnavailable:
        # It may have failed after something was written, when the answer was to be read.
        words = (
            "The store cannot be read or written now. Try again later; if this was to change "
            "something, look first what became of it."
        )
        return problem(503, words, code="audit_unavailable")
    except ClientDisconnect:
        return Response(status_code=400)


async def _told(_incoming: Request, error: Exception) -> Response:
    """Answer what HTTP itself refuses (not found, method not allowed), and name what there is."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    detail = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = "There is no such path: see GET /openapi.json. MCP is at /mcp, AAP below /aap/v1."
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"This path takes {(error.headers or {}).get('Allow', 'another method')} alone."
    return problem(error.status_code, detail, headers=error.headers)


async def _unexpected(_incoming: Request, error: Exception) -> Response:
    return _unknown(error)


def _unknown(error: Exception) -> Response:
    """Answer only that it went wrong."""
    log.error("an operation failed: %s", located(error))
    return problem(500, "The bot met an error it does not know; nothing more is told here.")
