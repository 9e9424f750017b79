"""Define the paths of the AAP door, below /aap/v1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.intake.aap.asking import Asking
from bot.intake.aap.provider import Provider
from bot.intake.aap.wire import (
    AapRefused,
    Misshapen,
    as_error,
    error,
    key_of,
    seconds,
    submission_of,
    unauthorized,
)
from bot.intake.http.app import carried_out
from bot.intake.http.bodies import body_of, object_of
from bot.intake.http.door import Door, is_agent
from bot.intake.http.problems import json_response
from bot.intake.http.queries import LONGEST_WAIT_S
from lifecycle.answers import Sender
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import read_object

_Run = Callable[[Request, Sender], Awaitable[Response]]
_OUTCOMES: Final = ("succeeded", "failed")
_KEY: Final = "idempotency-key"


def aap_routes(door: Door) -> list[BaseRoute]:
    """Return the routes of a provider over `door`; an agent's token is its instance credential."""
    provider = Provider(door, Asking(door))

    async def ask(incoming: Request, sender: Sender) -> Response:
        key, submission, raw = await _submitted(door, incoming, sender)
        content, new = await provider.ask(submission, key, sender, raw)
        return json_response(content, 201 if new else 200)

    async def look_or_cancel(incoming: Request, sender: Sender) -> Response:
        asked_id = incoming.path_params["asked_id"]
        if incoming.method == "DELETE":
            return json_response(await provider.cancel(asked_id, sender))
        text = incoming.query_params.get("wait")
        wait_s = min(LONGEST_WAIT_S, seconds(text)) if text else 0
        found = await provider.look(asked_id, wait_s, sender, incoming)
        _check_speaks(door, incoming, sender)  # removed while the answer was held back
        return json_response(found)

    async def consume(incoming: Request, sender: Sender) -> Response:
        key = key_of(incoming.headers.getlist(_KEY))
        asked_id = incoming.path_params["asked_id"]
        return json_response(await provider.consume(asked_id, key, sender, incoming))

    async def report(incoming: Request, sender: Sender) -> Response:
        body = await object_of(incoming)
        _check_speaks(door, incoming, sender)
        told = _outcome(body)
        return json_response(await provider.report(incoming.path_params["asked_id"], told, sender))

    one = "/aap/v1/requests/{asked_id}"
    return [
        Route("/aap/v1/requests", _guarded(door, ask, intake=True), methods=["POST"]),
        Route(one, _guarded(door, look_or_cancel), methods=["GET", "DELETE"]),
        Route(f"{one}/consume", _guarded(door, consume), methods=["POST"]),
        Route(f"{one}/outcome", _guarded(door, report), methods=["POST"]),
    ]


async def _submitted(
    door: Door, incoming: Request, sender: Sender
) -> tuple[str, dict[str, Any], bytes]:
    """Return key, submission and its bytes; a malformed one leaves an entry in the trail."""
    raw = b""
    try:
        key = key_of(incoming.headers.getlist(_KEY))
        raw = await body_of(incoming)
        _check_speaks(door, incoming, sender)
        return key, submission_of(read_object(raw)), raw
    except Misshapen as error:
        fault = Fault(error.fault, suggestion=str(error))
        await door.workflow.intake.refused(Refused([fault]), sender, raw)
        raise
    except Refused as error:
        await door.workflow.intake.refused(error, sender, raw)
        raise


def _outcome(body: dict[str, Any]) -> dict[str, Any]:
    note = body.get("note", "")
    fits = body.keys() <= {"status", "note"} and body.get("status") in _OUTCOMES
    if not fits or not isinstance(note, str):
        raise Misshapen("wrong_type", "status is succeeded or failed, note a text.")
    return {"status": body["status"]} | ({"note": note} if note else {})


def _check_speaks(door: Door, incoming: Request, sender: Sender) -> None:
    """Raise AapRefused 401 if a new config has taken the token away meanwhile."""
    if not door.speaks(incoming, sender):
        raise unauthorized()


def _guarded(
    door: Door, run: _Run, *, intake: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(incoming: Request) -> Response:
        sender = door.sender(incoming)
        try:
            if sender is None or not is_agent(sender):
                if intake:
                    await door.turned_away(sender)
                raise unauthorized()
            with door.places.place(incoming, sender):
                return await _in_place(door, run, incoming, sender)
        except AapRefused as refused:
            return error(refused)
        except Refused as refused:
            status = 413 if refused.code == "too_large" else 400
            return error(AapRefused(status, refused.code, str(refused)))

    async def endpoint(incoming: Request) -> Response:
        return as_error(await carried_out(door, lambda: guarded(incoming)))

    return endpoint


async def _in_place(door: Door, run: _Run, incoming: Request, sender: Sender) -> Response:
    async with door.turns.turn(incoming, sender):
        _check_speaks(door, incoming, sender)  # removed while it waited for its turn
        return await run(incoming, sender)
