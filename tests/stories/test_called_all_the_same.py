"""What fails once a tool was called says nothing of what it did; what is given up does not work."""

from __future__ import annotations

import asyncio

import pytest

from lifecycle.calls import carrying
from lifecycle.ports import Call, RowRefused, Tool, ToolDoubtful, Transaction
from lifecycle.proposal import Attention
from tests.builders import PROD
from tests.fakes.tools import raising
from tests.world import World

DEPLOY = "production-deploy"


class Untold:
    """What a doubt tells is an object of the tool's own, and that fails, or ends the program."""

    def __init__(self, with_what: type[BaseException]) -> None:
        self._with_what = with_what

    def __str__(self) -> str:
        raise self._with_what


@pytest.mark.parametrize("with_what", [RecursionError, SystemExit, asyncio.CancelledError])
async def test_a_doubt_whose_words_fail_is_no_call_that_was_not_made(
    world: World, with_what: type[BaseException]
) -> None:
    """It was told as failed with nothing left behind, and a person could have run it twice."""
    world.tool(DEPLOY).on["execute"] = raising(ToolDoubtful(Untold(with_what)))
    await world.submits(PROD)
    await world.approves("ana", "p1")
    await world.workflow.idle()

    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_so_is_what_fails_around_a_call_that_was_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def called(tool: Tool, call: Call) -> object:
        await tool.execute(call)
        raise MemoryError

    monkeypatch.setattr(carrying, "call_tool", called)
    await world.submits(PROD)
    await world.approves("ana", "p1")
    await world.workflow.idle()

    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_write_that_is_given_up_gives_no_all_clear(world: World) -> None:
    errors: list[Exception] = [RowRefused("The database refuses a row of this.")]

    def unit(tx: Transaction) -> None:
        raise errors[-1]

    writing = asyncio.create_task(world.workflow.world.write_until_taken(unit))
    async with asyncio.timeout(20):
        while not world.notifier.alerts:
            world.clock.advance(0.5)
            await asyncio.sleep(0)
        errors.append(KeyError("gone"))
        while not writing.done():
            world.clock.advance(0.5)
            await asyncio.sleep(0)

    assert isinstance(writing.exception(), KeyError)
    assert "is given up (KeyError)" in world.notifier.alerts[-1]
