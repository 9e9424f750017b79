"""Refuse, or bring into form, messages that h11 lets through and RFC 9112 does not."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from bot.intake.http.problems import problem

#: No user and password before the host: whoever sends them means to mislead (RFC 9110, 4.2.4).
_ABSOLUTE: Final = re.compile(rb"https?://([\w.~%!$&'()*+,;=:\[\]-]+)(/.*)?", re.I | re.A)
_NO_TARGET: Final = (
    "The target of this message is no path. Send `GET /healthz HTTP/1.1`, or through a proxy the "
    "whole address, http://host/path."
)
_TWO_LENGTHS: Final = (
    "The body has a Content-Length and a Transfer-Encoding: send one of them. Whoever stands "
    "between could read it to another end."
)
_VERSION: Final = "HTTP/1.1 is spoken here, and no other version."


class WellFormed:
    """An ASGI application that passes on only messages with a path as their target and one length.

    A client that thinks it speaks to a proxy sends a whole address as the target (section 3.2.2).
    The host in it replaces the field Host, so that a message never names two hosts.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a message on with a path as its target, or say why not and hang up."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            plain = _as_path(scope)
        except _Malformed as error:
            hangs_up = {"Connection": "close"}
            await problem(error.status, str(error), headers=hangs_up)(scope, receive, send)
            return
        await self._app(plain, receive, send)


class _Malformed(Exception):
    """This is no message for us; it has the status, and words that say why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def _as_path(scope: Scope) -> Scope:
    """Return the scope with a path as its target. Raises _Malformed."""
    names = {name for name, _ in scope["headers"]}
    if not scope["http_version"].startswith("1."):
        raise _Malformed(505, _VERSION)
    if {b"content-length", b"transfer-encoding"} <= names:
        raise _Malformed(400, _TWO_LENGTHS)
    if scope["path"].startswith("/") or scope["path"] == "*":
        return scope
    found = _ABSOLUTE.fullmatch(scope["raw_path"])
    if found is None:
        raise _Malformed(400, _NO_TARGET)
    return _with(scope, found[1], found[2] or b"/")


def _with(scope: Scope, host: bytes, path: bytes) -> Scope:
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {
        **scope,
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "headers": [(b"host", host), *others],
    }
