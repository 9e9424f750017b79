"""`status` where the store cannot be read: then above all somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.chat.commands.commands import Commands
from lifecycle.ports import RowUnreadable, StoreUnavailable
from tests.world import World

DAMAGED = "The database cannot be read: it is malformed. Stop the bot: signoff restore FILE"


class Blind:
    """A store of which nothing can be read."""

    def __init__(self, error: StoreUnavailable) -> None:
        self.error = error

    async def read(self, view: Callable[[Any], Any]) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable(DAMAGED), "audit_unavailable"),
        (RowUnreadable(DAMAGED), "digest_mismatch"),
    ],
)
async def test_status_says_what_is_wrong_with_a_store_that_cannot_be_read(
    world: World, error: StoreUnavailable, code: str
) -> None:
    commands = Commands(world.workflow, health=lambda: ("terminal: on",))
    world.workflow.world.store = Blind(error)  # type: ignore[assignment]

    reply = await commands.run("status", world.sender("ana"))
    world.workflow.world.store = world.store

    assert reply.code == code
    assert DAMAGED in reply.text
    assert "terminal: on" in reply.text
    assert "Policy pol1_" in reply.text
