"""Whose turn it is where a platform takes little: people first, and nobody waits for good."""

from __future__ import annotations

import asyncio
import contextlib

from bot.chat.turns import Rank, Turn, Turns, taking_turns_as

ANA = Turn(Rank.FIRST, "ana")
BEN = Turn(Rank.FIRST, "ben")
CARDS = Turn(Rank.CARDS)
LEILA = Turn(Rank.AGENTS, "leila")
NOUR = Turn(Rank.AGENTS, "nour")


class Queue:
    """Those who come while somebody speaks, and what they say in their turn."""

    def __init__(self, at_once: int = 1) -> None:
        self.turns = Turns(at_once)
        self.spoke: list[str] = []
        self.waiting: list[asyncio.Task[None]] = []

    async def speaks(self, turn: Turn, words: str) -> None:
        with taking_turns_as(turn):
            async with self.turns.taken():
                self.spoke.append(words)
                await asyncio.sleep(0)

    async def comes(self, turn: Turn, *words: str) -> None:
        for each in words:
            self.waiting.append(asyncio.create_task(self.speaks(turn, each)))
            await asyncio.sleep(0)

    async def all_spoke(self) -> list[str]:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*self.waiting)
        return self.spoke


async def test_N03_people_come_first_and_an_agent_behind_a_flood_next() -> None:
    queue = Queue()
    async with queue.turns.taken():
        await queue.comes(LEILA, "l1", "l2", "l3", "l4")
        await queue.comes(NOUR, "n1")
        await queue.comes(CARDS, "c1", "c2")
        await queue.comes(ANA, "ana")
    assert await queue.all_spoke() == ["ana", "l1", "c1", "n1", "c2", "l2", "l3", "l4"]


async def test_each_line_keeps_its_order() -> None:
    queue = Queue(at_once=2)
    await queue.comes(LEILA, "l1", "l2", "l3", "l4", "l5")
    assert await queue.all_spoke() == ["l1", "l2", "l3", "l4", "l5"]


async def test_even_people_who_never_stop_leave_a_turn_to_the_others() -> None:
    queue = Queue()
    async with queue.turns.taken():
        await queue.comes(ANA, *(f"a{number}" for number in range(20)))
        await queue.comes(BEN, *(f"b{number}" for number in range(20)))
        await queue.comes(CARDS, "card")
    assert (await queue.all_spoke()).index("card") == 4


async def test_who_gives_up_is_passed_over_although_called_in_that_very_moment() -> None:
    queue = Queue()
    async with queue.turns.taken():
        await queue.comes(LEILA, "l1", "l2")
        await queue.comes(ANA, "ana")
    # The turn ended: ana was called, and gives up before she can speak.
    queue.waiting[-1].cancel()
    queue.waiting[0].cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await queue.waiting[-1]
    await asyncio.wait(queue.waiting)
    assert queue.spoke == ["l2"]
    async with asyncio.timeout(1), queue.turns.taken():
        pass
