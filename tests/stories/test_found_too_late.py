"""A ❌ that is found on a card after its window closed elsewhere: too late, and told of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.answers import CardPlace
from tests.builders import PROD
from tests.world import World

PLACE = CardPlace("terminal", "m-p1")
WORDS = (
    "p1 (send-email) was closed, and a ❌ by person ben was found on terminal after that: it "
    "stands. Look, and take back by hand what must not."
)


async def announced(world: World) -> list[str]:
    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 10**15, 99))
    return [each.body["text"] for each in waiting if each.kind == "announcement"]


async def finds(world: World, *, late: bool) -> str | None:
    ben = replace(world.sender("ben"), event_id="card:m-p1:found")
    return (await world.workflow.reject("p1", ben, card=PLACE, found_late=late)).code


async def test_it_is_announced_once_and_leaves_one_row(world: World) -> None:
    await world.submits()
    await world.approves("ana", "p1")
    await world.passes(minutes=15)

    assert await finds(world, late=True) == "window_closed"
    await finds(world, late=True)

    assert await announced(world) == [WORDS]
    (row,) = await world.audit("ignored")
    assert (row["reason"], row["details"]["found_late"]) == ("window_closed", True)
    assert (await world.proposal("p1")).reason == "window_closed_unopposed"


async def test_one_that_was_heard_too_late_is_answered_and_not_announced(world: World) -> None:
    await world.submits()
    await world.approves("ana", "p1")
    await world.passes(minutes=15)

    assert await finds(world, late=False) == "window_closed"
    assert await announced(world) == []


async def test_what_never_had_a_window_is_not_said_to_have_closed(world: World) -> None:
    await world.submits(PROD)
    await world.approves("ana", "p1")

    assert await finds(world, late=True) == "window_closed"
    assert await announced(world) == []


@pytest.mark.parametrize("who", ["stranger", "leila", "cal"])
async def test_one_by_whoever_could_not_have_stopped_it_calls_nobody(
    world: World, who: str
) -> None:
    """Anybody in the channel, and any agent, could have everybody told to take things back."""
    await world.submits()
    await world.approves("ana", "p1")
    await world.passes(minutes=15)

    sender = replace(world.sender(who), event_id="card:m-p1:found")
    reply = await world.workflow.reject("p1", sender, card=PLACE, found_late=True)

    assert reply.code == "window_closed"
    assert await announced(world) == []
    assert len(await world.audit("ignored")) == 1
