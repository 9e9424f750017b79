"""Serve all doors on one port: HTTP, and beside it MCP and AAP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping

from starlette.applications import Starlette
from starlette.routing import Route

from bot.intake.aap.routes import aap_routes
from bot.intake.behind_token import BehindToken
from bot.intake.http.app import application
from bot.intake.http.door import Door
from bot.intake.http.serving import served
from bot.intake.mcp import over_http
from bot.intake.mcp_messages import StrictMessages, judged
from bot.version import signoff_version
from lifecycle.workflow import Workflow


@contextlib.asynccontextmanager
async def served_doors(
    workflow: Workflow, environment: Mapping[str, str], host: str, port: int
) -> AsyncIterator[str]:
    """Serve all doors while entered; yields the address. Raises StartFailed."""
    async with served(workflow, environment, host, port, all_doors) as url:
        yield url


def all_doors(door: Door) -> Starlette:
    """Return the application with every door; MCP speaks to the HTTP door like any client."""
    spoken = over_http(application(door), door.public_url, signoff_version(), judged(door))
    messages = BehindToken(door, StrictMessages(spoken.handle_request))
    beside = [Route("/mcp", messages), *aap_routes(door)]
    return application(door, beside, lambda _app: spoken.run())
