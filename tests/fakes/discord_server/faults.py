"""What goes wrong on purpose, and what was asked of the server."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.clock import NOON_MS

#: From here Discord counts.
_EPOCH_MS = 1_420_070_400_000


@dataclass
class Call:
    """One REST call as it came; `status` is what it was answered, None where nothing was."""

    method: str
    path: str
    query: Mapping[str, str]
    json: Any
    files: dict[str, bytes] = field(default_factory=dict)
    status: int | None = None
    at_s: float = 0.0


_PAGE = "<html><title>Attention Required! | Cloudflare</title></html>"


@dataclass
class Fault:
    """What happens to calls that match: a status, or a connection that is cut.

    `page` is an answer that is none of Discord's: the page of something in between, or what stands
    on it.
    `times` calls are hit (None: all), the first `skip` matching ones left alone, and with `every`
    only each n-th; `says` is a text that must stand in the body. `acts` lets the server do what
    was asked before the answer is lost.
    """

    method: str
    path: str
    status: int | None = None
    code: int = 0
    message: str = "scripted"
    retry_after: float | None = None
    is_global: bool = False
    via: bool = True
    acts: bool = False
    gate: asyncio.Event | None = None
    page: bool | str = False
    times: int | None = 1
    skip: int = 0
    says: str = ""
    every: int = 1
    seen: int = 0

    def hits(self, call: Call) -> bool:
        """Say whether this call is hit, and count it."""
        if self.times == 0 or call.method != self.method or not re.search(self.path, call.path):
            return False
        if self.says not in str(call.json):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.seen - self.skip) % self.every:
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def answer(self) -> web.Response:
        """Return the scripted answer."""
        if self.page is not False:
            text = _PAGE if self.page is True else self.page
            kind = {"Content-Type": "application/json" if text.startswith("{") else "text/html"}
            if self.retry_after is not None:
                kind["Retry-After"] = str(self.retry_after)
            return web.Response(status=self.status or 403, body=text.encode(), headers=kind)
        if self.status == 429:
            body = {
                "message": "You are being rate limited.",
                "retry_after": self.retry_after or 0.01,
                "global": self.is_global,
            }
            headers = {"Retry-After": str(self.retry_after or 0.01)}
            if self.via:
                headers["Via"] = "1.1 fake"
            if self.is_global:
                headers["X-RateLimit-Global"] = "true"
            return answer(body, 429, headers)
        return answer({"message": self.message, "code": self.code}, self.status or 500)


@dataclass
class Bucket:
    """A rate limit of calls to one channel, of posts unless it says otherwise: `most` in `per_s`,
    told in headers, else a 429."""

    most: int
    per_s: float
    method: str = "POST"
    path: str = r"/channels/\d+/messages"
    left: int = 0
    until_s: float = 0.0

    def concerns(self, call: Call) -> bool:
        """Say whether a call is limited by it."""
        return call.method == self.method and re.fullmatch(self.path, call.path) is not None

    def takes(self, call: Call) -> bool:
        """Count a call that is limited; False where it is one too many."""
        if not self.concerns(call):
            return True
        if call.at_s >= self.until_s:
            self.left, self.until_s = self.most, call.at_s + self.per_s
        self.left -= 1
        return self.left >= 0

    def headers(self, now_s: float) -> dict[str, str]:
        """Return what Discord tells of it."""
        return {
            "X-RateLimit-Bucket": f"{self.method} messages",
            "X-RateLimit-Limit": str(self.most),
            "X-RateLimit-Remaining": str(max(0, self.left)),
            "X-RateLimit-Reset-After": f"{max(0.0, self.until_s - now_s):.3f}",
        }


class Refused(Exception):
    """Discord's own way to say no."""

    def __init__(self, status: int, code: int, message: str, errors: Any = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.errors = status, code, message, errors

    def answer(self) -> web.Response:
        """Return the error as Discord writes it."""
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return answer(body, self.status)


def answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return JSON with exactly `application/json`: the client takes nothing else for JSON."""
    import orjson

    response = web.Response(body=orjson.dumps(body), status=status, headers=headers)
    response.headers["Content-Type"] = "application/json"
    return response


def not_found(code: int, what: str) -> Refused:
    """Return a 404 with Discord's code."""
    return Refused(404, code, f"Unknown {what}")


class Snowflakes:
    """Ids that grow, each a millisecond after the one before, from the legend's noon on."""

    def __init__(self) -> None:
        self._next = itertools.count((NOON_MS - _EPOCH_MS) << 22, 1 << 22)

    def __call__(self) -> str:
        return str(next(self._next))
