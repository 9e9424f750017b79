"""Tools that note every call and do what a test tells them to: real code, no mock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifecycle.ports import Call, Tool

Doing = Callable[[Call], Awaitable[Mapping[str, Any]]]


async def _nothing(call: Call) -> Mapping[str, Any]:
    return {}


@dataclass
class NotingTool:
    """Keeps its calls; `on` maps a verb to what it does then."""

    calls: list[Call] = field(default_factory=list)
    on: dict[str, Doing] = field(default_factory=dict)

    async def execute(self, call: Call) -> Mapping[str, Any]:
        return await self._done(call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        return await self._done(call)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        return await self._done(call)

    async def _done(self, call: Call) -> Mapping[str, Any]:
        self.calls.append(call)
        return await self.on.get(call.verb, _nothing)(call)

    def verbs(self) -> list[str]:
        """Return the verbs called so far, in order."""
        return [call.verb for call in self.calls]


@dataclass
class NotingToolbox:
    """One noting tool a name."""

    tools: dict[str, NotingTool] = field(default_factory=dict)

    def tool(self, name: str) -> Tool:
        return self.noting(name)

    def noting(self, name: str) -> NotingTool:
        """Return the tool of this name, made at first sight."""
        return self.tools.setdefault(name, NotingTool())

    def real_path(self, path: str) -> str:
        return path

    def describe(self, name: str) -> Mapping[str, Any]:
        return {}


def answering(receipt: Mapping[str, Any]) -> Doing:
    """Return a doing that answers with `receipt`."""

    async def doing(call: Call) -> Mapping[str, Any]:
        return receipt

    return doing


def raising(error: BaseException) -> Doing:
    """Return a doing that raises `error`."""

    async def doing(call: Call) -> Mapping[str, Any]:
        raise error

    return doing


def waiting_for(gate: asyncio.Event, receipt: Mapping[str, Any] | None = None) -> Doing:
    """Return a doing that answers once `gate` is set."""

    async def doing(call: Call) -> Mapping[str, Any]:
        await gate.wait()
        return receipt or {}

    return doing
