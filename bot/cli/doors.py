"""This module holds the command `mcp`: an MCP server on standard input and output that is a client
of the running bot."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bot.cli.saying import fail
from bot.cli.streams import Unprinted
from bot.process import pool

UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        envvar="SIGNOFF_URL",
        help="Where the running bot's HTTP door is.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("mcp")(mcp)


def mcp(url: UrlOption = "http://127.0.0.1:8080") -> None:
    """Speak MCP on standard input and output.

    A client of the running bot: --url names its HTTP door, SIGNOFF_TOKEN holds the agent's token.

    \b
    SIGNOFF_TOKEN=… signoff mcp --url http://127.0.0.1:8080
    """
    from bot.intake.mcp import over_stdio
    from bot.version import signoff_version

    token = os.environ.get("SIGNOFF_TOKEN", "")
    problem = pool.run(_unmet(url, token))
    if problem is not None:
        fail(problem)
    try:
        pool.run(over_stdio(url, token, signoff_version()))
    except ExceptionGroup as group:
        raise told_apart(group) from group


def told_apart(group: ExceptionGroup[Exception]) -> Exception:
    """Return Unprinted if the group holds an OSError of standard output, else the group itself."""
    found: Exception = group.subgroup(OSError) or group
    while isinstance(found, ExceptionGroup):
        found = found.exceptions[0]
    return Unprinted(found) if isinstance(found, OSError) else group


async def _unmet(url: str, token: str) -> str | None:
    """Return words on why the bot cannot be used, None if it can."""
    from bot.client import Signoff, SignoffRefused, SignoffUnreachable

    if not token:
        return "SIGNOFF_TOKEN is not set: it holds the token of the agent that speaks."
    try:
        async with Signoff(url, token) as signoff:
            await signoff.whoami()
    except SignoffUnreachable as error:
        return str(error)
    except SignoffRefused as refused:
        if refused.reason != "unknown_agent":
            return f"The bot at {url} refuses: {refused}"
        return f"The bot at {url} does not know this SIGNOFF_TOKEN."
    return None
