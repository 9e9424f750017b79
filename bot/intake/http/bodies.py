"""Read a body: bounded before it is read, and within a time."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

from starlette.requests import Request

from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES, announced_size_refused, read_object

#: The texts that are presented may be larger than the document that has digests of them.
LARGEST_CALL_BYTES: Final = 1024 * 1024
_SLOWEST_S: Final = 30.0
#: The key in the scope of a message for its Turn.
TURN: Final = "signoff.turn"
#: Content-Encodings that encode nothing.
_PLAIN: Final = ("", "identity")


class Turn(Protocol):
    """What a message takes of its sender's share (`turns.py`)."""

    async def is_read(self, size_bytes: int) -> None:
        """Tell the size of the body, in case its message did not announce it."""

    def end(self) -> None:
        """Give all back, before the message is answered."""


class BodyTooSlow(Exception):
    """The body did not arrive in time."""


class BodyPacked(Exception):
    """The body came under a Content-Encoding; nothing is unpacked here."""


async def body_of(incoming: Request, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> bytes:
    """Return the body as it came.

    Raises Refused `too_large` at the first byte too many, BodyTooSlow, BodyPacked.
    """
    encodings = incoming.headers.getlist("content-encoding")  # a second line counts as well
    if any(each.strip().lower() not in _PLAIN for each in encodings):
        raise BodyPacked
    announced = incoming.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit():
        announced_size_refused(int(announced[:19]), limit_bytes=limit_bytes)
    try:
        async with asyncio.timeout(_SLOWEST_S):
            body = await _read(incoming, limit_bytes)
    except TimeoutError:
        raise BodyTooSlow from None
    turn: Turn | None = incoming.scope.get(TURN)
    if turn is not None:
        await turn.is_read(len(body))
    return body


async def object_of(incoming: Request, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> dict[str, Any]:
    """Return the body as one JSON object, read strictly. Raises Refused."""
    return read_object(await body_of(incoming, limit_bytes), limit_bytes=limit_bytes)


def fields_of(body: dict[str, Any], known: dict[str, type], *, needed: tuple[str, ...]) -> None:
    """Raise Refused for fields that are missing, unknown or of another type."""
    faults = [
        Fault("wrong_type", key, required=f"{key} in the body", suggestion=f"Send {key}.")
        for key in needed
        if key not in body
    ]
    for key in sorted(body):
        if key not in known:
            faults.append(
                Fault(
                    "unknown_field",
                    key[:64],
                    required="one of " + ", ".join(sorted(known)),
                    suggestion="Remove this field.",
                )
            )
        elif not isinstance(body[key], known[key]) or isinstance(body[key], bool):
            word = "a string" if known[key] is str else "an object"
            faults.append(Fault("wrong_type", key, required=word, suggestion=f"Send {word} here."))
    if faults:
        raise Refused(faults[:32])


async def _read(incoming: Request, limit_bytes: int) -> bytes:
    data = bytearray()
    async for chunk in incoming.stream():
        data += chunk
        announced_size_refused(len(data), limit_bytes=limit_bytes)
    return bytes(data)
