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


async def runs_on(keeper: BoardKeeper, twice: asyncio.Event) -> None:
    """Let it run until the board was placed twice, and for hundreds of looks more."""
    running = asyncio.create_task(keeper.run())
    await asyncio.wait_for(twice.wait(), 10)
    for _ in range(500):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


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
    await runs_on(keeper, twice)

    assert placed == 2


async def test_a_board_that_goes_each_time_before_it_is_known_where_is_posted_ever_slower() -> None:
    """As where a bot deletes every message at once: each look would post, and pin, another one."""
    placed, twice = 0, asyncio.Event()
    world = a_world(MemoryStore())

    async def place(_board: Board, _stood: str | None) -> str:
        nonlocal placed
        placed += 1
        keeper.lost([f"b{placed}"])
        if placed == 2:
            twice.set()
        return f"b{placed}"

    keeper = BoardKeeper(world.workflow.world, "slack", place, 0.001)
    await runs_on(keeper, twice)

    assert placed == 2


async def test_a_board_that_nobody_said_was_deleted_is_looked_for_and_placed_again() -> None:
    """What a platform tells of while the bot is away is lost, and nothing else may change."""
    stood_in: list[str | None] = []
    stands: set[str] = set()

    async def place(_board: Board, stood: str | None) -> str:
        stood_in.append(stood)
        stands.add(f"b{len(stood_in)}")
        return f"b{len(stood_in)}"

    async def is_there(message_id: str) -> bool:
        return message_id in stands

    world = a_world(MemoryStore())
    keeper = BoardKeeper(world.workflow.world, "slack", place, stands=is_there)
    await keeper.show()
    world.clock.advance(181)
    await keeper.show()
    assert stood_in == [None]

    stands.clear()
    await keeper.show()
    assert stood_in == [None]
    world.clock.advance(181)
    await keeper.show()
    assert stood_in == [None, "b1"]


async def test_a_board_that_is_deleted_before_it_is_known_where_it_stands_is_placed_again() -> None:
    stood_in: list[str | None] = []

    async def place(_board: Board, stood: str | None) -> str:
        stood_in.append(stood)
        if len(stood_in) == 1:
            keeper.lost(["b1"])
        return f"b{len(stood_in)}"

    world = a_world(MemoryStore())
    keeper = BoardKeeper(world.workflow.world, "slack", place)
    for _ in range(3):
        await keeper.show()

    assert stood_in == [None, "b1"]


@pytest.mark.parametrize("told", [5, [], {"id": "b1"}, True])
async def test_a_board_whose_place_is_no_message_is_placed_anew(told: object) -> None:
    """Somebody wrote over where it stands: it was never shown again."""
    stood_in: list[str | None] = []

    async def place(_board: Board, stood: str | None) -> str:
        stood_in.append(stood)
        return "b2"

    world = a_world(MemoryStore())
    await world.store.write(lambda tx: tx.flags.put("board:slack", told))
    keeper = BoardKeeper(world.workflow.world, "slack", place)

    await keeper.show()
    await keeper.show()

    assert stood_in == [None]
    assert await world.store.read(lambda tx: tx.flags.get("board:slack")) == "b2"
