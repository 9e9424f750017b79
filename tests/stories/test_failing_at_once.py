"""What should follow in the same unit fails: the unit before it stands all the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lifecycle.ports import Transaction
from lifecycle.proposal import Verb
from lifecycle.state import State
from tests.builders import PROD
from tests.stories.unrecorded import SEARCH
from tests.world import World


def breaks_once(world: World, times: int) -> None:
    """Let the next few permits fail to be made."""
    working, left = world.workflow.world.nonce, iter(range(times))

    def nonce() -> str:
        if next(left, None) is not None:
            raise RuntimeError("no permit can be made")
        return working()

    world.workflow.world.nonce = nonce


async def test_an_approval_stands_although_the_beginning_fails(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    breaks_once(world, 2)

    with pytest.raises(RuntimeError, match="no permit"):
        await world.workflow.approve("p1", world.sender("ana"))
    kept = await world.proposal("p1")
    await world.keeps_house()

    assert (kept.state, str(kept.opener)) == (State.SENTINEL_APPROVED, "person ana")
    assert world.tool("production-deploy").verbs() == [Verb.EXECUTE]
    assert (await world.trail("p1")).count("reviewed") == 1


async def test_a_proposal_stands_although_its_verdict_fails(world: World) -> None:
    breaks_once(world, 1)

    answer = await world.submits(SEARCH, proposal_id="p1")

    assert (answer.proposal_id, answer.state) == ("p1", "completed")
    assert (await world.trail("p1"))[:2] == ["submitted", "sentinel_approve"]


async def test_what_fails_for_many_together_and_for_none_alone_is_told_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It is done all the same, and a fault of ours, of which nobody heard."""

    def unit(_tx: Transaction, proposal_ids: Sequence[str]) -> int:
        if len(proposal_ids) > 1:
            raise ZeroDivisionError
        return 1

    for _ in range(2):
        assert await world.workflow.world.many.write(["p1", "p2"], unit) == 2

    said = [each.getMessage() for each in caplog.records]
    assert ["ZeroDivisionError at" in words for words in said] == [True]
