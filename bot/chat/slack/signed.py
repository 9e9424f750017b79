"""Lets Slack's events in over HTTP only if Slack signed them (design section 8)."""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web as http
from aiohttp.typedefs import Handler, Middleware
from slack_sdk.signature import SignatureVerifier

from bot.chat.slack.callers import Callers
from lifecycle.located import located

log = logging.getLogger("signoff.slack")

#: In bytes; what Slack sends to look at the certificate is shorter.
_LONGEST_LOOK: Final = 1_024
_UNREADABLE: Final = "This cannot be read.\n"
_UNSIGNED: Final = "Slack's signature is missing or wrong.\n"


def only_signed(secret: str, callers: Callers) -> Middleware:
    """Return a middleware that lets through what is signed with `secret`, and answers the rest.

    Bolt parses a body before it checks the signature, so that anybody could make it stumble. A
    connection of `callers` is not ended while its signed event is processed.
    """
    verifier = SignatureVerifier(secret)

    @http.middleware
    async def signed(request: http.Request, handler: Handler) -> http.StreamResponse:
        try:
            body = await request.read()
        except http.RequestPayloadError:
            return http.Response(status=400, text=_UNREADABLE)
        if _asks_for_the_certificate(body):
            return http.Response()
        if not _signed(verifier, body, request):
            return http.Response(status=401, text=_UNSIGNED)
        try:
            with callers.at_work(request.transport):
                return await handler(request)
        except http.HTTPException:
            raise
        except Exception as error:
            log.warning("slack: a signed event could not be read: %s", located(error))
            return http.Response(status=400, text=_UNREADABLE)

    return signed


def _asks_for_the_certificate(body: bytes) -> bool:
    """Say whether this is Slack's check of the TLS certificate, which it does not sign.

    Anybody may send that: nothing of it is read, and nothing follows.
    """
    if len(body) > _LONGEST_LOOK:
        return False
    try:
        asked = dict(parse_qsl(body.decode("ascii"), strict_parsing=True))
    except ValueError:
        return False
    return asked.pop("ssl_check", "") == "1" and asked.keys() <= {"token"}


def _signed(verifier: SignatureVerifier, body: bytes, request: http.Request) -> bool:
    try:
        return verifier.is_valid_request(body, dict(request.headers))
    except (ValueError, TypeError, OverflowError):
        return False  # a time that is not a number, or a signature beyond ASCII
