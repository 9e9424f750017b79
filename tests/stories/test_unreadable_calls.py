"""A call that a crash cut off, whose trail or row somebody changed: a person comes to it."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.stories.forging import exchanged
from tests.stories.hearing import SEND, cut_off
from tests.world import World

UNREADABLE = "UPDATE audit SET details = '{' WHERE proposal_id = 'p1'"


@pytest.mark.parametrize("row", ["as it was", "changed too"])
async def test_what_was_cut_off_beside_an_unreadable_trail_is_not_called_again_and_calls_a_person(
    on_disk: World, forged: Any, row: str
) -> None:
    """It stood as running for good: nobody could settle it, retry it or take it back."""
    world = on_disk
    await cut_off(world)
    calls = world.tool(SEND).verbs()
    forged(UNREADABLE)
    if row == "changed too":
        forged(exchanged(await world.proposal("p1"), b"pat@", b"eve@"))
    await world.restarts()

    await world.passes(seconds=10)

    stuck = await world.proposal("p1")
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert world.tool(SEND).verbs() == calls
    settled = await world.workflow.settle("p1", world.sender("ana"), happened=False)
    assert settled.done
    assert (await world.proposal("p1")).reason == "did_not_happen"
