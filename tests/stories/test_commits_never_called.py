"""A commit that no tool was called for is in no doubt, whatever was in doubt before it."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.stories.test_calls_changed_meanwhile import (
    AT_ONCE,
    OTHER,
    SEND,
    becomes,
    begun_anew,
    is_again,
)
from tests.world import World


@pytest.mark.parametrize("other", [{"settings": OTHER}, AT_ONCE])
async def test_a_commit_that_was_never_called_is_not_in_doubt_for_an_execution_that_once_was(
    world: World, other: dict[str, Any]
) -> None:
    before = await begun_anew(world)
    await becomes(world, **other)
    await world.passes(minutes=16)
    await world.passes(seconds=1)
    assert (await world.proposal("p1")).attention is Attention.COMMIT_FAILED
    assert await problems(world) == []

    await is_again(world, before)
    world.tool(SEND).on["commit"] = raising(ToolFailed("the server refused it"))
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()

    held = await world.proposal("p1")
    assert held.attention is Attention.COMMIT_FAILED, held.attention_why
    assert await problems(world) == []
    assert (await world.rejects("ana", "p1")).done
    assert (await world.proposal("p1")).state is State.ROLLED_BACK
