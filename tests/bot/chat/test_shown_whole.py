"""The answer to `show` tells of one moment, whatever happens while it is put together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.chat.commands.commands import Commands
from tests.builders import PROD
from tests.stage import in_memory
from tests.world import World


class ApprovedBetween:
    """Passes everything on; after the first look at the store ana approves p1."""

    def __init__(self, world: World) -> None:
        self._world, self._store = world, world.store

    async def read(self, view: Callable[[Any], Any]) -> Any:
        found = await self._store.read(view)
        if self._world.workflow.world.store is self:
            self._world.workflow.world.store = self._store
            await self._world.approves("ana", "p1")
        return found


async def test_show_does_not_tell_of_an_approval_that_came_after_what_it_shows(
    tmp_path: Path,
) -> None:
    async with in_memory(tmp_path) as world:
        await world.submits(PROD, proposal_id="p1")
        world.workflow.world.store = ApprovedBetween(world)  # type: ignore[assignment]
        shown = (await Commands(world.workflow).run("show p1", world.sender("ben"))).text

    assert "sentinel_approved: waits for people" in shown
    assert "approved by 0 of 1" in shown
    assert "approved by person ana" not in shown
