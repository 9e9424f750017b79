"""Tools that nobody here may call: the agent's own, and the blocked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from lifecycle.ports import Call, ToolFailed


class UncallableTool:
    """Refuses every verb, having done nothing. A tool of kind `agent` is redeemed, not called."""

    def __init__(self, why: str) -> None:
        """Take the sentence for whoever calls it all the same."""
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
