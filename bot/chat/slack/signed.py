"""Slack's events over HTTP: what Slack did not sign is read by nobody (design section 8)."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web as http
from aiohttp.typedefs import Handler, Middleware
from slack_sdk.signature import SignatureVerifier

from lifecycle.located import located

log = logging.getLogger("signoff.slack")

_UNREADABLE: Final = "This cannot be read.\n"
_UNSIGNED: Final = "Slack's signature is missing or wrong.\n"


def only_signed(secret: str) -> Middleware:
    """Return a middleware that lets through what is signed with `secret`, and answers the rest.

    Bolt parses a body before it looks at who signed it, so that anybody could make it stumble.
    """
    verifier = SignatureVerifier(secret)

    @http.middleware
    async def signed(request: http.Request, handler: Handler) -> http.StreamResponse:
        body = await request.read()
        if not _signed(verifier, body, request):
            return http.Response(status=401, text=_UNSIGNED)
        try:
            return await handler(request)
        except http.HTTPException:
            raise
        except Exception as error:
            log.warning("slack: a signed event could not be read: %s", located(error))
            return http.Response(status=400, text=_UNREADABLE)

    return signed


def _signed(verifier: SignatureVerifier, body: bytes, request: http.Request) -> bool:
    try:
        return verifier.is_valid_request(body, dict(request.headers))
    except (ValueError, TypeError, OverflowError):
        return False  # a time that is no number, a signature that is no ASCII
