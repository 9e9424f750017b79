"""The board is shown again where it was lost, in whatever moment that was."""

from __future__ import annotations

import asyncio

from bot.chat.board import Board
from bot.chat.board_keeping import BoardKeeper
from bot.storage.memory import MemoryStore
from tests.world import a_world


async def test_a_board_that_is_deleted_while_it_is_edited_is_placed_again() -> None:
    stood_in: list[str | None] = []
    begun, gate = asyncio.Event(), asyncio.Event()

    async def place(_board: Board, stood: str | None) -> str:
        stood_in.append(stood)
        if len(stood_in) == 2:
            begun.set()
            await gate.wait()
        return "b1"

    world = a_world(MemoryStore())
    keeper = BoardKeeper(world.workflow.world, "slack", place)
    await keeper.show()
    keeper.lost(["b1"])
    editing = asyncio.create_task(keeper.show())
    await begun.wait()
    keeper.lost(["b1"])
    gate.set()
    await editing

    await keeper.show()
    await keeper.show()

    assert stood_in == [None, "b1", "b1"]
