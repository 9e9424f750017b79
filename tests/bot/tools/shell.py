"""Tools that are one line of shell, and how a call of them ends."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from bot.tools.command import CommandTool
from bot.tools.leftovers import Leftovers
from lifecycle.calls.calling import call_tool
from tests.contracts.tool_contract import call


class Shell:
    """A tool that is one line of shell, for what a contract cannot tell."""

    parameters = MappingProxyType({"n": 1})

    def __init__(self, line: str, folder: Path, environment=os.environ, **settings) -> None:
        argv = {"execute": ["sh", "-c", line]} | settings
        self.tool = CommandTool(argv, folder, environment, Leftovers(None))


async def outcome_of(line: str, folder: Path, limit_s: float = 20):
    """Execute the line once."""
    bench = Shell(line, folder)
    return await call_tool(bench.tool, replace(call(bench, "execute"), limit_s=limit_s))
