"""A stop holds from the moment in which it is given, however long it is asked who gave it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from lifecycle.answers import Reply
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.notifier import PlainNotifier
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
WINDOW_S = 900


@dataclass
class Slow(PlainNotifier):
    """A platform that takes its time: to say who is still there for sure, or who ben is."""

    about_ben: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[str]:
        if set(people) == {"ben"} if self.about_ben else only_certain:
            self.asked.set()
            await self.answers.wait()
        return await super().lost_members(people, only_certain=only_certain)


async def on_its_way(
    world: World, act: Coroutine[Any, Any, Reply], *, about_ben: bool = False
) -> asyncio.Task[Reply]:
    """Begin an act, and come as far as the platform's word on whose it is."""
    slow = world.notifier = world.workflow.world.notifier = Slow(about_ben=about_ben)
    given = asyncio.create_task(act)
    await slow.asked.wait()
    return given


async def stopping(world: World, person: str, proposal_id: str = "p1") -> asyncio.Task[Reply]:
    """Type a stop."""
    act = world.workflow.reject(proposal_id, world.sender(person), "not now")
    return await on_its_way(world, act)


async def is_answered(world: World, given: asyncio.Task[Reply]) -> None:
    notifier = world.notifier
    assert isinstance(notifier, Slow)
    notifier.answers.set()
    await given
    await world.workflow.idle()


async def test_a_window_does_not_close_while_it_is_asked_who_stops_it(world: World) -> None:
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    given = await stopping(world, "ben")
    world.clock.advance(WINDOW_S + 1)
    await world.workflow.close_due()
    await is_answered(world, given)
    assert (await world.proposal("p1")).state is State.ROLLED_BACK
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_nothing_begins_while_it_is_asked_who_stops_it(world: World) -> None:
    await world.submits(PROD)
    given = await stopping(world, "ben")
    assert (await world.workflow.approve("p1", world.sender("ana"))).done
    await world.workflow.open_ready()
    await is_answered(world, given)
    assert (await world.proposal("p1")).reason == "rejected_by_person"
    assert world.tool(DEPLOY).verbs() == []


async def test_what_a_stranger_typed_holds_nothing_once_it_is_refused(world: World) -> None:
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    await is_answered(world, await stopping(world, "cal"))
    await world.passes(seconds=WINDOW_S + 1)
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert not world.workflow.world.heard.of("p1")


async def test_nothing_begins_while_it_is_asked_who_takes_an_approval_back(world: World) -> None:
    await world.submits(PROD, approval_class="dual")
    await world.approves("ben", "p1")
    taking_back = world.workflow.take_back("p1", world.sender("ben"))
    given = await on_its_way(world, taking_back, about_ben=True)

    assert (await world.workflow.approve("p1", world.sender("ana"))).done
    await world.workflow.open_ready()
    await is_answered(world, given)
    await world.passes(seconds=10)

    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    assert world.tool(DEPLOY).verbs() == []
    assert (await world.workflow.approve("p1", world.sender("ben"))).done
    await world.passes(seconds=10)
    assert world.tool(DEPLOY).verbs() == ["execute"]
