"""Signed HTTP: events, commands and interactions posted to the app, with the v0 signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp


@dataclass(frozen=True)
class Answered:
    """What the app answered."""

    status: int
    body: str


class SignedPoster:
    """Posts to the app's address; `secret` signs, `now_s` is the time written in the header."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.secret = secret

    async def event(
        self, payload: dict[str, Any], now_s: float, *, attempt: int = 0, **how: Any
    ) -> Answered:
        """Post one event of the Events API."""
        retry = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
        body = json.dumps(payload)
        return await self.post(
            body, "application/json", now_s, more=retry if attempt else None, **how
        )

    async def form(self, fields: dict[str, str], now_s: float, **how: Any) -> Answered:
        """Post a slash command, or `{"payload": …}` of an interaction."""
        kind = "application/x-www-form-urlencoded"
        return await self.post(urlencode(fields), kind, now_s, **how)

    async def post(
        self,
        body: str,
        content_type: str,
        now_s: float,
        *,
        signature: str | None = None,
        signed: bool = True,
        more: dict[str, str] | None = None,
    ) -> Answered:
        """Post with a right signature, another one, or none."""
        headers = {"Content-Type": content_type} | (more or {})
        stamp = str(int(now_s))
        if signed:
            headers["X-Slack-Request-Timestamp"] = stamp
            headers["X-Slack-Signature"] = signature or self.sign(stamp, body)
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url, data=body.encode(), headers=headers) as response,
        ):
            return Answered(response.status, await response.text())

    def sign(self, stamp: str, body: str) -> str:
        """Return the v0 signature."""
        base = f"v0:{stamp}:{body}".encode()
        return "v0=" + hmac.new(self.secret.encode(), base, hashlib.sha256).hexdigest()
