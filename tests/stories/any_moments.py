"""Things that come in the one moment in which they count: between a word and what is done on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from bot.chat.hearing.signals import Signal
from lifecycle.policy import Policy
from lifecycle.ports import Call, StoreUnavailable
from lifecycle.proposal import Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.stories.any_deeds import the_policy
from tests.stories.any_lines import InTurn
from tests.stories.any_people import People
from tests.stories.any_rooms import Room

_WAIT = (State.PENDING, State.SENTINEL_APPROVED)
_WITH_A_WINDOW = ("send-email", "stage-window", "again")


class Moments(People):
    """Deeds that are two, of which the second comes while the first is on its way."""

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        self.at_work: set[str] = set()

    async def _called(self, call: Call) -> dict[str, Any]:
        key = f"{call.tool} {call.idempotency_key}"
        if key in self.at_work:
            self.wrong.append(f"{key} is called while it is at work")
        self.at_work.add(key)
        try:
            return await super()._called(call)
        finally:
            self.at_work.discard(key)

    # -- before it begins ---------------------------------------------------------------------

    async def in_the_midst(self) -> None:
        """Have something approved; once Sentinel was asked, its evidence is seen otherwise, or time
        passes, or another policy is taken."""
        named = await self._shown_anew() or await self._one(lambda p: p.state in _WAIT)
        if named is None:
            return
        await self.observes(good=True)
        InTurn.then = self.chance.choice(
            (
                lambda: self.begin(self.world.observes(False)),
                lambda: self.world.clock.advance(self.chance.choice((31, 400, 901))),
                lambda: self.begin(self.half_adopts(named)),
            )
        )
        self._all_approve(named)
        await self.turns_of_the_loop(60)
        InTurn.then = None

    async def _shown_anew(self, *tools: str) -> str | None:
        """Propose something that rests on evidence, and show it to people."""
        if self.proposed >= self.most:
            return None
        self.failures, rests = 0, self.rests
        self.rests, self.offers = True, tools
        await self.submits()
        self.rests, self.offers = rests, ()
        await self.turns_of_the_loop(60)
        await self.shows()
        await self.turns_of_the_loop(60)
        return f"p{self.proposed}"

    async def stands_still(self) -> None:
        """Let the disk stand still behind the intent of a call for a minute, while jobs go on."""
        named = await self._shown_anew("again")
        if named is None:
            return
        self.mode, self.disk.stands_behind = "waits", True
        self._all_approve(named)
        await self.turns_of_the_loop(60)
        for _ in range(6):
            await self.ages(10)
            self.begin(self.world.workflow.recover())
            await self.turns_of_the_loop(10)
        goes_on, self.disk.goes_on, self.disk.stands_behind = self.disk.goes_on, None, False
        if goes_on is not None:
            goes_on.set()

    def _all_approve(self, named: str, *but: str) -> None:
        for person in sorted({"ana", "ben", "dee"} - {*but}):
            self._did(person, named, "type", "APPROVE", "terminal", "")
            self.begin(self._at_the_prompt(named, person))

    async def half_adopts(self, named: str | None = None) -> None:
        """Let the store take a policy that asks for more, and nobody hear that it did."""
        named = named or self.some()
        tool = str(self.documents.get(named, {}).get("tool") or "send-email")
        base = the_policy()
        what: dict[str, Any] = self.chance.choice(
            ({"tier": Tier.BLOCK}, {"reviewers": "operators"})
        )
        policy = replace(base, tools={**base.tools, tool: replace(base.tools[tool], **what)})
        await self.takes_unheard(policy)

    async def takes_unheard(self, policy: Policy) -> None:
        self.failures = 0
        self.disk.answers = 1
        with suppress(StoreUnavailable):
            await self.takes(policy)

    async def takes_off_unworked(self) -> None:
        """Take one of two ✅ off a card while its platform fails once; another approves then."""
        self.dual = True
        named = await self._shown_anew()
        room, self.dual = self.a_room(), False
        stood = room.all_of.get(named or "", ())[-1:]
        if named is None or not stood or room.line != "up":
            return
        self._puts(room, named, stood[0], "ana", Signal.APPROVE)
        await self.turns_of_the_loop(60)
        if ("ana", "APPROVE") in room.emoji[stood[0]]:
            room.failing = 1
            self._takes(room, stood[0], ("ana", "APPROVE"))
            await self.turns_of_the_loop(10)
            self._all_approve(named, "ana", "dee")

    # -- before it closes ---------------------------------------------------------------------

    async def at_its_close(self) -> None:
        """Let a window pass; before it is closed its evidence is seen otherwise, or a stop is given
        that cannot be written."""
        named = await self._done_anew()
        if named is None:
            return
        self.failures = 0
        if self.chance.random() < 0.5:
            await self._comes_to_its_end(named)
            await self._seen_and_not_judged()
        else:
            await self._stops_unwritten(named)
            await self._comes_to_its_end(named)
        self.begin(self.world.workflow.close_due())

    async def _done_anew(self) -> str | None:
        """Return one whose window is open; where there is none, have one proposed and approved."""
        open_ones = await self._one(self._in_window)
        named = await self._shown_anew(*_WITH_A_WINDOW) if open_ones is None else None
        if named is not None:
            self.mode = "done"
            self._all_approve(named)
            await self.turns_of_the_loop(60)
            return await self._one(self._in_window)
        return open_ones

    async def _seen_and_not_judged(self) -> None:
        """Record what objects; the disk fails before anything can be judged by it, or, where
        Sentinel is asked for something else just then, before it is recorded."""
        InTurn.then = partial(setattr, self.disk, "writes", 1)
        with suppress(AssertionError):  # the source was told that nothing was recorded
            await self.observes(good=False)
        InTurn.then = None
        self.failures = 0

    async def _stops_unwritten(self, named: str) -> None:
        """Stop it while the disk takes nothing; then it does again."""
        self.disk.writes = 2
        self._did("ben", named, "type", "STOP", "terminal", "")
        self.begin(self.world.workflow.reject(named, self.world.sender("ben"), "no"))
        await self.turns_of_the_loop(20)
        self.failures = 0

    async def misses_a_stop(self) -> None:
        """Let a line break, a ❌ be given, and the reading after that fail; then all is well until
        its window closes."""
        named = await self._done_anew()
        room = self.a_room()
        stood = [at for at in room.all_of.get(named or "", ()) if at in room.standing][-1:]
        if named is None or not stood or room.line != "up":
            return
        self.failures = 0
        self.loses(room)
        self._did("ben", named, "emoji", "STOP", room.name, stood[0])
        room.emoji.setdefault(stood[0], set()).add(("ben", "STOP"))
        await self._reads_in_vain(room)
        await self._comes_to_its_end(named)
        self.begin(self.world.workflow.close_due())

    async def _reads_in_vain(self, room: Room) -> None:
        room.line, room.missed, room.failing = "up", [], 4
        self.surfaces[room.name].connects()
        await self.turns_of_the_loop(60)
        room.answers, room.failing, room.well_turn = True, 0, self.turn
        await self.turns_of_the_loop(620)

    # -- which one ----------------------------------------------------------------------------

    async def _one(self, which: Callable[[Proposal], bool]) -> str | None:
        """Return one that is open and of which this is so; one that rests on evidence first."""
        names = sorted(self.laws.open)
        rows = await self.world.store.read(lambda tx: [tx.proposals.get(each) for each in names])
        found = [row.proposal_id for row in rows if row is not None and which(row)]
        rest = [each for each in found if self.documents.get(each, {}).get("preconditions")]
        return self.chance.choice(rest or found) if found else None

    def _in_window(self, row: Proposal) -> bool:
        done = row.execution
        return (
            row.state is State.EXECUTING
            and done is not None
            and (done.verb, done.outcome) == (Verb.EXECUTE, Outcome.DONE)
            and done.window_closes_at_ms is not None
        )

    async def _comes_to_its_end(self, named: str) -> None:
        """Let time pass until its window may close, and a ❌ on it is no news any more."""
        row = await self.world.store.read(lambda tx: tx.proposals.get(named))
        closes_ms = row.execution and row.execution.window_closes_at_ms if row else None
        left_s = ((closes_ms or 0) - self.world.clock.now_ms()) // 1000 + 1
        await self.ages(max(91, left_s))
