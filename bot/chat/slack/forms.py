"""Has Bolt read the forms that Slack posts to our address as they are, whatever words are in them.

Bolt takes every form for an interaction that has the word payload in it, be it in an id, a reason
or the channel's name. If it is none, as any slash command, Bolt reads nothing of it: Slack shows an
error, and a rejection is lost.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from aiohttp import web as http
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_server import AsyncSlackAppServer
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.request.async_internals import build_async_context
from slack_bolt.request.async_request import AsyncBoltRequest


class FormsServer(AsyncSlackAppServer):
    """Bolt's own server, but for forms of which Bolt reads nothing."""

    async def handle_post_requests(self, request: http.Request) -> http.Response:
        """Hand over what was posted, and answer as Bolt says."""
        posted = await to_bolt_request(request)
        _read_whole(posted)
        return await to_aiohttp_response(await self.bolt_app.async_dispatch(posted))


def _read_whole(posted: AsyncBoltRequest) -> None:
    """Read the fields of a form if Bolt has read none. What was signed stays as it was."""
    if posted.body or posted.raw_body.startswith("{"):
        return
    posted.body = dict(parse_qsl(posted.raw_body, keep_blank_values=True))
    posted.context = build_async_context(AsyncBoltContext({}), posted.body)
