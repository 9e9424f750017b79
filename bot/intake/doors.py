"""All doors on one port: HTTP, and beside it MCP and AAP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping

from bot.intake.http.serving import served
from lifecycle.workflow import Workflow


@contextlib.asynccontextmanager
async def served_doors(
    workflow: Workflow, environment: Mapping[str, str], host: str, port: int
) -> AsyncIterator[str]:
    """Serve all doors while entered; yields the address. Raises StartFailed."""
    async with served(workflow, environment, host, port) as url:
        yield url
