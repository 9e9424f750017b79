"""A bot over platforms and a disk that fail: its start and its end, its lines, its policies."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

from bot.chat.commands.commands import Commands
from bot.chat.showing.broadcast import Broadcast
from lifecycle.checking.rule_run import Run, Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.clockwork.restored import bring_back
from lifecycle.heard import HeardStops
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore, StoreUnavailable
from lifecycle.sentinel import LoadedRule
from lifecycle.world import Law
from tests.roads import adopted
from tests.stories.any_book import Book, Watched
from tests.stories.any_deeds import the_policy
from tests.stories.any_discord import DiscordIn
from tests.stories.any_disk import Disk, FailingSpool, fail_with
from tests.stories.any_laws import Laws
from tests.stories.any_order import Disorder
from tests.stories.any_policies import some_changes
from tests.stories.any_rooms import FAR, Room
from tests.stories.any_slack import SlackIn
from tests.world import rules_of

_JOBS = "close_due close_due expire_due open_ready recover recheck remind catch_up catch_up"


class InTurn(Workers):
    """Rules at work in the loop, a run a turn: what comes in between is the same each time.

    `then` is done once, as soon as Sentinel is asked the next time.
    """

    then: ClassVar[Callable[[], None] | None] = None

    def take(self, run: Run[Any]) -> None:
        asyncio.get_running_loop().call_soon(run.work)
        then, InTurn.then = InTurn.then, None
        if then is not None:
            then()


def in_turn(rules: Sequence[LoadedRule]) -> Sentinel:
    """Return a Sentinel that no machine makes late."""
    return Sentinel(rules, limit_s=30.0, workers=InTurn())


class AllRooms(Broadcast):
    """The notifier of all rooms, which delivers when it is asked to."""

    async def deliver(self, store: ProposalStore, now_ms: int, *, full: bool = True) -> int:
        return sum([await self._drained(name) for name in self.surfaces()])

    async def _drained(self, name: str) -> int:
        try:
            return await self.delivery(name).drain()
        except StoreUnavailable:
            return 0


class Lines(Disorder):
    """One life of a bot that hears over lines. `turn` counts the turns of the loop, `troubled`
    is the last one in which the disk was in trouble."""

    sentinel_of = staticmethod(in_turn)

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        world.store.write = self._write
        chance = random.Random(f"rooms {seed}")
        self.rooms = {name: Room(name, chance) for name in ("discord", "slack")}
        self.channels: Any = SimpleNamespace(channels=self.rooms)
        self.turn = self.troubled = 0
        self.disk, self.book = Disk(), Book()
        self.laws = Laws(self.book, the_policy(), world.clock.now_ms)
        self.wrong = self.laws.wrong
        fail_with(world.store, self.disk, self.laws.after)
        world.spool = self.law.spool = FailingSpool(self.disk)
        self.law.law = Law(self.law.law.policy, in_turn(self.law.law.sentinel.rules))
        world.workflow = Watched(self.law, self.book)
        self.others: set[asyncio.Task[Any]] = set()
        InTurn.then = None
        self.surfaces: dict[str, Any] = {}

    @property
    def failures(self) -> int:
        """How many writes fail next; what sets it to none mends the whole disk."""
        return self.disk.writes

    @failures.setter
    def failures(self, count: int) -> None:
        if "disk" in vars(self):
            self.disk.mended()
            self.disk.writes = count

    async def turns_of_the_loop(self, turns: int) -> None:
        for _ in range(turns):
            self.turn += 1
            await super().turns_of_the_loop(1)

    async def step(self) -> None:
        """Do one thing, and look with a disk that works."""
        if not self.surfaces:
            self.others = asyncio.all_tasks()
            await self._serves(self.law)
            for name in self.rooms:
                self.connects(name)
        kept = replace(self.disk)
        self.disk.mended()
        before = await self.world.store.read(self._as_it_stands)
        vars(self.disk).update(vars(kept))
        await self.does_something()
        self.troubled = self.turn if self.disk != Disk() else self.troubled
        kept = replace(self.disk)
        self.disk.mended()
        await self._looks_back(before)
        vars(self.disk).update(vars(kept))

    # -- a process ----------------------------------------------------------------------------

    async def _serves(self, law: Any) -> None:
        """Let the surfaces of a new process hear."""
        clock = self.world.clock
        made = DiscordIn(self.rooms["discord"], clock), SlackIn(self.rooms["slack"], clock)
        self.surfaces = {each.name: each for each in made}
        self.world.notifier = law.notifier = AllRooms(made)
        law.notifier.attach(law)
        if law is not self.law:
            self.world.workflow = Watched(law, self.book)
            await self.world.workflow.start()
        commands = Commands(self.world.workflow, health=law.notifier.health)
        for each in made:
            await each.begins(commands, law.notifier.delivery(each.name))

    async def ends(self) -> None:
        self.law.ending = True
        for room in self.rooms.values():
            room.line, room.well_turn, room.missed = "down", FAR, []
        doomed = asyncio.all_tasks() - self.others - {asyncio.current_task()}
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        self.under_way.clear()
        self.waiting.clear()
        self.disk.mended()
        await self.world.store.write(lambda _: None)

    async def begins_anew(self) -> None:
        self.book.died()
        fresh = replace(self.law, ending=False, held=set(), heard=HeardStops(), unspooled=[])
        await self._serves(fresh)
        for name in self.rooms:
            if self.chance.random() < 0.7:
                self.connects(name)

    async def brings_back(self) -> None:
        await self.ends()
        moment = self.law.moment()
        await self.world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
        await self.begins_anew()

    async def does_a_job(self) -> None:
        job = self.chance.choice(_JOBS.split())
        law = self.world.workflow
        self.begin(law.world.notifier.catch_up() if job == "catch_up" else getattr(law, job)())

    async def shows(self) -> None:
        self.begin(self.world.notifier.deliver(self.world.store, 0))

    async def passes(self) -> None:
        await self.ages(self.chance.choice((1, 6, 31, 61, 300, 901)))

    async def ages(self, seconds: int) -> None:
        """Let time pass; a line that stands shows signs of life, one that does not is noticed."""
        last = min(seconds, self.chance.choice((0, 1, 5, 30)))
        self.world.clock.advance(seconds - last)
        for name, room in self.rooms.items():
            if room.line == "up":
                self.surfaces[name].hearing.alive()
            elif room.line == "dead" and seconds > 60:
                self.loses(room)
        self.world.clock.advance(last)

    # -- lines and calls ----------------------------------------------------------------------

    def a_room(self) -> Room:
        return self.rooms[self.chance.choice(("discord", "slack"))]

    def loses(self, room: Room) -> None:
        room.line, room.well_turn = "down", FAR
        self.surfaces[room.name].hearing.lost("the connection broke")

    def connects(self, name: str) -> None:
        """Connect; Discord sends what was missed where the old connection can be resumed."""
        room, surface = self.rooms[name], self.surfaces[name]
        missed, room.missed = room.missed, []
        room.line, room.well_turn = "up", self.turn
        if missed and self.chance.random() < 0.5:
            for each in missed:
                each(surface)
            surface.hearing.resumed()
        else:
            surface.connects()

    async def breaks(self) -> None:
        room = self.a_room()
        if room.line == "up":
            self.loses(room)

    async def goes_dead(self) -> None:
        """Break a line without a sign."""
        room = self.a_room()
        if room.line == "up":
            room.line, room.well_turn = "dead", FAR

    async def notices(self) -> None:
        room = self.a_room()
        if room.line == "dead":
            self.loses(room)

    async def returns(self) -> None:
        room = self.a_room()
        if room.line == "down":
            self.connects(room.name)

    async def refuses(self) -> None:
        """Let a platform answer no call, or fail some."""
        room = self.a_room()
        room.answers = self.chance.random() < 0.5
        room.failing, room.well_turn = self.chance.choice((1, 2, 4)), FAR

    async def answers_again(self) -> None:
        for room in self.rooms.values():
            room.answers, room.failing = True, 0
            if room.line == "up" and room.well_turn == FAR:
                room.well_turn = self.turn

    async def redelivers(self) -> None:
        """Let Slack bring what was not acknowledged."""
        room = self.rooms["slack"]
        if room.line == "up":
            again, room.again = room.again, []
            for each in again:
                self.begin(each(self.surfaces["slack"]))

    async def leaves(self) -> None:
        gone = frozenset(self.chance.sample(("ana", "ben", "dee"), self.chance.choice((0, 0, 1))))
        for room in self.rooms.values():
            room.gone, room.unsaid = gone, self.chance.random() < 0.15
            room.ever_gone |= gone

    # -- the disk -----------------------------------------------------------------------------

    async def loses_the_disk(self) -> None:
        self.disk.writes = self.chance.choice((1, 2, 5, 5))

    async def loses_reads(self) -> None:
        self.disk.reads = self.chance.choice((1, 2, 5))

    async def loses_answers(self) -> None:
        self.disk.answers = self.chance.choice((1, 1, 2))

    async def loses_the_spool(self) -> None:
        self.disk.spoolings = self.chance.choice((1, 3))

    # -- policies -----------------------------------------------------------------------------

    async def adopts(self) -> None:
        """Put another policy in force; what is being judged goes on meanwhile, or does not."""
        self.failures = 0
        policy = replace(the_policy(), **dict(some_changes(self.chance, the_policy())))
        adopting = self.takes(policy)
        if self.chance.random() < 0.5:
            await adopting
        else:
            self.begin(adopting)

    async def takes(self, policy: Policy) -> None:
        digest = f"pol1_{next(self.world.policies):064d}"
        policy = self.laws.policies[digest] = replace(policy, digest=digest)
        await adopted(self.world.workflow, policy, in_turn(rules_of(policy)))
