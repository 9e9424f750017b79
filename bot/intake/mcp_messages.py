"""Read messages of MCP over HTTP strictly before the SDK gets them, and judge calls by that."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.intake.behind_token import replayed
from bot.intake.http.bodies import TURN, Turn
from bot.intake.http.door import Door, is_agent
from bot.intake.http.problems import problem
from bot.intake.http.turns import LEAST_BYTES
from bot.intake.mcp_reading import Context, Judge, flaw_of, refused_at_once, repaired
from lifecycle.answers import Answer, refusal
from lifecycle.errors import Refused

#: Messages larger than this are read off the event loop.
_SMALL_BYTES: Final = 16_384
#: The key in the scope of a message for its flaw, its bytes as they came, and its method.
_FLAW: Final = "signoff.flaw"


_Noted = tuple[Refused, bytes, object]


class StrictMessages:
    """An ASGI application that gives the SDK only JSON objects.

    An object with a flaw is passed on with a note, so that its sender is answered under its id;
    `judged` keeps it from being acted on. It stands behind BehindToken.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`, the SDK."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a message on, or answer 400 as JSON-RPC does."""
        if scope["method"] != "POST":
            # A stream of events would stay open for ever; there are none here (MCP says 405).
            allowed = {"Allow": "POST"}
            await problem(405, "Send messages by POST.", headers=allowed)(scope, receive, send)
            return
        raw = await Request(scope, receive).body()
        large = len(raw) > _SMALL_BYTES
        flaw = await asyncio.to_thread(flaw_of, raw) if large else flaw_of(raw)
        turn: Turn | None = scope.get(TURN)
        if turn is not None and len(raw) <= LEAST_BYTES:
            turn.end()  # its answer may be held for minutes; a large one keeps its share so long
        if flaw is None:
            await self._app(scope, replayed(raw, receive), send)
            return
        refused = refused_at_once(raw, flaw)
        if refused is not None:
            told = refused.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(told, 400, media_type="application/json")(scope, receive, send)
            return
        body = repaired(raw) or b"{}"
        noted = (flaw, raw, json.loads(body).get("method"))
        await self._app({**scope, _FLAW: noted}, replayed(body, receive), send)


def judged(door: Door) -> Judge:
    """Return the function that judges a message; a refused proposal gets its entry in the trail.

    Only the method that the message asks for is judged. The SDK lists the tools for itself before
    it calls one, and would write a traceback if that were refused.
    """

    async def judge(context: Context) -> Answer | None:
        asked = context.request
        found: _Noted | None = asked.scope.get(_FLAW) if asked is not None else None
        if asked is None or found is None:
            return None
        sender, (flaw, raw, method) = door.sender(asked), found
        if context.method != method:
            return None
        if sender is None or not is_agent(sender):
            return None  # the application behind answers who is no agent
        if context.method == "tools/call" and (context.params or {}).get("name") == "propose":
            return await door.workflow.intake.refused(flaw, sender, raw)
        return refusal(flaw)

    return judge
