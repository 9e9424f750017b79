"""Notices that Slack leaves events out because a workspace has more than it gives to one app.

Slack says so in a message of its own form; what was decided meanwhile stands on the cards alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

_TYPE: Final = "app_rate_limited"


def notice(app: AsyncApp, left_out: Callable[[], None]) -> None:
    """Call `left_out` when Slack says that it leaves events out, and acknowledge that message."""

    async def noticed(
        body: Mapping[str, Any], next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        if body.get("type") != _TYPE:
            return await next()
        left_out()
        return BoltResponse(status=200)

    app.middleware(noticed)
