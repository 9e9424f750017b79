"""Stands in for tools that Signoff may not call: those that an agent carries out itself, and those
that are blocked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from lifecycle.ports import Call, ToolFailed


class UncallableTool:
    """Refuses every verb, on the event loop, with ToolFailed, because nothing was done.

    A tool of kind `agent` is never called; its agent redeems a permit instead.
    """

    def __init__(self, why: str) -> None:
        """Take the end of the sentence that begins with the name of the tool."""
        self._why = why

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Refuse."""
        self._refuse(call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Refuse."""
        self._refuse(call)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Refuse."""
        self._refuse(call)

    def _refuse(self, call: Call) -> NoReturn:
        raise ToolFailed(f"{call.tool} {self._why}")
