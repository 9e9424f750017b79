"""Ports of the store and of the tools at whose steps a process can kill itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from lifecycle.ports import Call


class Fuse:
    """Counts steps and kills this process at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at, self.steps = at, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class FusedStore:
    """A store at whose commits the fuse burns: before, inside the transaction, and after."""

    def __init__(self, store: Any, fuse: Fuse) -> None:
        self._store, self._fuse = store, fuse

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        def burning(tx: Any) -> Any:
            value = unit(tx)
            self._fuse.step()
            return value

        self._fuse.step()
        value = await self._store.write(burning)
        self._fuse.step()
        return value

    async def read(self, view: Callable[[Any], Any]) -> Any:
        return await self._store.read(view)

    async def close(self) -> None:
        await self._store.close()


class FusedTool:
    """A tool at whose calls the fuse burns: before, and after the effect was made."""

    def __init__(self, tool: Any, fuse: Fuse) -> None:
        self._tool, self._fuse = tool, fuse

    async def execute(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.execute, call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.commit, call)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.roll_back, call)

    async def _burning(self, verb: Callable[[Call], Any], call: Call) -> Mapping[str, Any]:
        self._fuse.step()
        receipt = await verb(call)
        self._fuse.step()
        return dict(receipt)


class FusedToolbox:
    """A toolbox of such tools."""

    def __init__(self, toolbox: Any, fuse: Fuse) -> None:
        self._toolbox, self._fuse = toolbox, fuse

    def tool(self, name: str) -> Any:
        return FusedTool(self._toolbox.tool(name), self._fuse)

    def real_path(self, path: str) -> str:
        return str(self._toolbox.real_path(path))

    def describe(self, name: str) -> Mapping[str, Any]:
        return dict(self._toolbox.describe(name))
