"""Guard a door that others wrote: it gets whole bodies only, and only from known senders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from bot.intake.http.app import carried_out
from bot.intake.http.bodies import LARGEST_CALL_BYTES, body_of
from bot.intake.http.door import Door
from bot.intake.http.problems import unauthorized
from bot.intake.http.turns import Turns
from lifecycle.answers import Sender

_Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

_WORDS: Final = "Send Authorization: Bearer <token> with the token of an agent."


class BehindToken:
    """An ASGI application that passes nothing on before the token is known and the body has
    arrived.

    It is a class because a Route takes an instance for an application as it is.
    """

    def __init__(self, door: Door, app: _Asgi) -> None:
        """Stand before `app`."""
        self._door = door
        self._app = app
        # Turns of its own: the application behind it asks the HTTP door, which has others.
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, 408, 413, 415, 429 or, while the bot ends, 503; else pass it on with its
        body."""
        incoming = Request(scope, receive)
        sender = self._door.sender(incoming)
        if sender is None:
            await unauthorized(_WORDS)(scope, receive, send)
            return
        answering = Answering(send)
        said = await carried_out(
            self._door, lambda: self._in_place(incoming, sender, receive, answering)
        )
        if isinstance(said, Response) and not answering.begun:
            await said(scope, receive, send)

    async def _in_place(
        self, incoming: Request, sender: Sender, receive: Receive, answering: Answering
    ) -> None:
        with self._door.places.place(incoming, sender):
            async with self._turns.turn(incoming, sender):
                body = await body_of(incoming, LARGEST_CALL_BYTES)
                await self._app(incoming.scope, replayed(body, receive), answering)


class Answering:
    """A `send` that knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        """Start before any answer."""
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        """Pass a message on."""
        self.begun = True
        await self._send(message)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the whole body at once, and then whatever else comes."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
