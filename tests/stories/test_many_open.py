"""Much is open: a new policy is compared with once, and a stop waits for none of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from bot.storage.memory import MemoryStore
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import waiting_for
from tests.roads import adopted
from tests.roomy import a_roomy_policy
from tests.world import World, a_world, an_unhurried_sentinel

T = TypeVar("T")

PAGE = 200
MORE_THAN_TWO_PAGES = 450
OTHERS = [{"subject": f"Invoice {number}"} for number in range(2848, 2853)]


class Walked(dict[str, ToolPolicy]):
    """The tools of a policy, counting how often all of them are gone through."""

    walks = 0

    def items(self) -> Any:
        self.walks += 1
        return super().items()

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


class EndsAfter:
    """A store under a bot that is told to end as soon as the trail has an entry of one kind."""

    def __init__(self, world: World, kind: str) -> None:
        self._inner, self._world, self._kind = world.store, world, kind
        world.workflow.world.store = self

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        value = await self._inner.write(unit)
        if await self._world.audit(self._kind):
            self._world.workflow.world.ending = True
        return value

    async def read(self, view: Callable[[Transaction], T]) -> T:
        return await self._inner.read(view)

    async def close(self) -> None:
        await self._inner.close()


async def mails(world: World) -> list[str]:
    """Submit some mails, each of which says something else."""
    said = [{**MAIL["parameters"], **other} for other in OTHERS]
    answers = [await world.submits(MAIL, parameters=each) for each in said]
    return [str(answer.proposal_id) for answer in answers]


async def many_mails(world: World) -> None:
    """Submit more mails than are read at a time."""
    for number in range(MORE_THAN_TWO_PAGES):
        said = {**MAIL["parameters"], "subject": f"Invoice {number}.2"}
        await world.submits(MAIL, parameters=said)


async def walks_of(world: World) -> int:
    """Put a policy in force; return how often its tools were gone through for that."""
    tools = Walked(world.workflow.policy.tools)
    await world.adopts(tools=tools)
    return tools.walks


async def test_a_policy_is_worked_out_once_however_much_is_open(world: World) -> None:
    """With 200 tools and 500 people each of 20,000 open proposals took ten milliseconds for it."""
    await world.submits(MAIL)
    for_one = await walks_of(world)
    open_now = await mails(world)
    for_more = await walks_of(world)

    assert for_more == for_one
    policy = world.workflow.policy.digest
    assert {(await world.proposal(each)).checked_policy_digest for each in open_now} == {policy}


class Handing:
    """A store that counts the proposals that it hands out, and how many at once.

    `then` is called once, when it has handed out more than a page.
    """

    def __init__(self, world: World, then: Callable[[], object] = lambda: None) -> None:
        self._inner, self.handed, self.at_once = world.store, 0, 0
        self._then = iter([then])
        world.workflow.world.store = self

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        return await self._inner.write(unit)

    async def read(self, view: Callable[[Transaction], T]) -> T:
        value = await self._inner.read(view)
        found = value if isinstance(value, list) else []
        count = sum(isinstance(each, Proposal) for each in found)
        self.handed, self.at_once = self.handed + count, max(self.at_once, count)
        if self.handed > PAGE:
            next(self._then, bool)()
        return value

    async def close(self) -> None:
        await self._inner.close()


async def test_of_many_that_are_judged_again_each_is_read_once_and_few_are_held_at_a_time() -> None:
    """Each page was twice the one before: of 20,000 up to ten thousand were held at once."""
    world = a_world(MemoryStore(), a_roomy_policy())
    await many_mails(world)
    store = Handing(world)

    await world.adopts()

    assert len(await world.audit("rechecked")) == MORE_THAN_TWO_PAGES
    assert store.handed == MORE_THAN_TWO_PAGES
    assert store.at_once == PAGE


async def test_what_two_would_judge_again_is_judged_by_one_of_them() -> None:
    """The job came a second after a new policy, and judged all of it a second time beside it."""
    world = a_world(MemoryStore(), a_roomy_policy())
    await many_mails(world)
    store = Handing(world)
    policy = replace(world.workflow.policy, digest="pol1_" + "c" * 64)
    job: list[asyncio.Task[int]] = []

    def begins() -> None:
        job.append(asyncio.create_task(world.workflow.recheck()))

    await adopted(world.workflow, policy, an_unhurried_sentinel(policy), begins)
    count = await job[0]

    assert len(await world.audit("rechecked")) == MORE_THAN_TWO_PAGES
    assert (store.handed, count) == (MORE_THAN_TWO_PAGES, 0)


async def test_all_is_judged_by_a_policy_that_comes_in_the_middle_and_a_page_at_a_time() -> None:
    world = a_world(MemoryStore(), a_roomy_policy())
    await many_mails(world)
    later: list[asyncio.Task[None]] = []
    store = Handing(world, lambda: later.append(asyncio.create_task(world.adopts())))

    await world.adopts()
    await later[0]

    waiting = await world.store.read(lambda tx: tx.proposals.waiting(0, MORE_THAN_TWO_PAGES))
    assert {each.checked_policy_digest for each in waiting} == {world.workflow.policy.digest}
    assert world.workflow.policy.digest == f"pol1_{2:064d}"
    assert store.at_once == PAGE


async def test_a_page_of_what_stays_as_it_is_hides_nothing_behind_it() -> None:
    """Its tools are at work, so that it is judged again only once they have answered."""
    world = a_world(MemoryStore(), a_roomy_policy())
    await many_mails(world)
    answered = asyncio.Event()
    world.tool("send-email").on["execute"] = waiting_for(answered)
    waiting = await world.store.read(lambda tx: tx.proposals.waiting(0, MORE_THAN_TWO_PAGES))
    for each in waiting[:-1]:
        await world.workflow.approve(each.proposal_id, world.sender("ana"))
    policy = replace(world.workflow.policy, digest="pol1_" + "c" * 64)

    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))

    assert len(await world.audit("rechecked")) == 1
    answered.set()
    await world.workflow.idle()


async def test_a_stop_waits_for_no_check_under_a_new_policy(world: World) -> None:
    """With thousands open a stop took the whole eight seconds, and cut the check off in a unit."""
    open_now = await mails(world)
    before = [(await world.proposal(each)).version for each in open_now]
    EndsAfter(world, "rechecked")

    await world.adopts()

    assert len(await world.audit("rechecked")) == 1
    after = [(await world.proposal(each)).version for each in open_now]
    assert sum(x != y for x, y in zip(before, after, strict=True)) == 1

    world.workflow.world.store = world.store
    await world.restarts()
    await world.workflow.recheck()
    assert len(await world.audit("rechecked")) == len(open_now), "the next start goes on"


async def test_a_stop_waits_for_nothing_that_could_begin_by_now(world: World) -> None:
    open_now = await mails(world)
    await world.workflow.freeze("why", world.sender("ana"))
    for each in open_now:
        await world.approves("ana", each)
    await world.workflow.thaw(world.sender("ana"))
    before = [(await world.proposal(each)).version for each in open_now]
    EndsAfter(world, "execute")

    await world.workflow.open_ready()
    await world.workflow.idle()

    after = [await world.proposal(each) for each in open_now]
    assert [each.state for each in after].count(State.EXECUTING) == 1
    moved = sum(x != y.version for x, y in zip(before, after, strict=True))
    assert moved == 1, "of the others nothing is noted"
