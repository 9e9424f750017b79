"""The board is shown again where it was lost, in whatever moment that was."""

from __future__ import annotations

import asyncio

import pytest

from bot.chat.showing.board import Board
from bot.chat.showing.board_keeping import BoardKeeper
from bot.chat.surface import SurfaceFailed
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


@pytest.mark.parametrize("fails", [False, True])
async def test_a_board_that_every_edit_leaves_empty_is_not_edited_at_once_for_ever(
    fails: bool,
) -> None:
    """As where Discord drops what the board shows: it tells of each of our edits as of a wipe."""
    placed, twice = 0, asyncio.Event()
    world = a_world(MemoryStore())

    async def place(_board: Board, _stood: str | None) -> str:
        nonlocal placed
        placed += 1
        keeper.lost(["b1"])
        if placed == 2:
            twice.set()
        if fails and placed > 1:
            raise SurfaceFailed("nothing is shown", lasting=True)
        return "b1"

    keeper = BoardKeeper(world.workflow.world, "discord", place, 0.001)
    await keeper.show()
    keeper.lost(["b1"])
    running = asyncio.create_task(keeper.run())
    await asyncio.wait_for(twice.wait(), 10)
    for _ in range(500):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert placed == 2
