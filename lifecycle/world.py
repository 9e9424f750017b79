"""The ports bundled, the law in force, and the tasks that outlive whoever started them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.failing import Failing
from lifecycle.heard import HeardStops
from lifecycle.located import located
from lifecycle.moment import Moment
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import (
    Clock,
    Notifier,
    ProposalStore,
    RowAtFault,
    RowRefused,
    RowUnreadable,
    Spool,
    StoreClosed,
    StoreUnavailable,
    Toolbox,
    Transaction,
)
from lifecycle.rows_met import note_row
from lifecycle.unwritten import Unwritten, takes_others

T = TypeVar("T")
Told = tuple[type[Exception], ...]
log = logging.getLogger("signoff.workflow")

_LONGEST_PAUSE_S = 60.0
_MOMENT_S = 0.5
_MOST_TOLD = 1_000
_OWING = "writing down what must not be lost"


@dataclass(frozen=True, slots=True)
class Law:
    """A policy and the Sentinel that was built from it; swapped as one."""

    policy: Policy
    sentinel: Sentinel


@dataclass(slots=True)
class World:
    """What the verbs work with. `nonce` gives unguessable strings.

    `owed` are the writes that are tried until the store takes them, and why it did not so far.
    """

    store: ProposalStore
    clock: Clock
    notifier: Notifier
    toolbox: Toolbox
    spool: Spool
    ring: KeyRing
    nonce: Callable[[], str]
    law: Law
    public_url: str = ""
    held: set[str] = field(default_factory=set)
    heard: HeardStops = field(default_factory=HeardStops)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    calls: dict[asyncio.Task[Any], str] = field(default_factory=dict)
    stopping: bool = False
    told: set[str] = field(default_factory=set)
    unwritten: Unwritten = field(default_factory=Unwritten)
    failing: Failing = field(default_factory=Failing)
    owed: dict[object, StoreUnavailable] = field(default_factory=dict)
    unspooled: list[Mapping[str, Any]] = field(default_factory=list)

    def moment(self, *, answering: bool = False) -> Moment:
        """Return this moment, for one unit."""
        return Moment(
            now_ms=self.clock.now_ms(),
            clock_ms=self.clock.now_ms,
            policy=self.law.policy,
            surfaces=self.notifier.surfaces(),
            ring=self.ring,
            nonce=self.nonce,
            public_url=self.public_url,
            answering=answering,
            held=self.held,
            heard=self.heard,
            stopping=self.stopping,
        )

    async def write(self, unit: Callable[[Transaction], T], *, news: bool = True) -> T:
        """Run a unit, then let the surfaces know that there may be something to show (`news`)."""
        value = await self._tried(unit)
        await self._written(news=news)
        return value

    async def write_surely(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit that must not be lost, with back-off until the store takes it."""
        ours, pause_s, given_up = object(), _MOMENT_S, ""
        try:
            while True:
                try:
                    value = await self._tried(unit)
                    break
                except StoreUnavailable as error:
                    self.owed[ours] = error
                    if isinstance(error, RowAtFault):  # of which nobody is told otherwise
                        self.step_failed(_OWING, str(error), whose=str(id(ours)))
                pause_s = await self._paused("written", pause_s, told=True)
        except Exception as error:
            given_up = type(error).__name__
            raise
        finally:
            self.owed.pop(ours, None)
            self.step_mended(_OWING, str(id(ours)), given_up=given_up)
        await self._written()
        return value

    async def read_surely(self, step: str, view: Callable[[Transaction], T]) -> T:
        """Run a view on which it depends what a call does, with back-off until it can be read.

        `step` says what waits for it, to people who are to know when it waits for long. Raises
        RowUnreadable for a row that cannot be read however long one waits.
        """
        pause_s, given_up = _MOMENT_S, ""
        try:
            while True:
                try:
                    return await self.store.read(view)
                except RowUnreadable:
                    raise
                except StoreUnavailable as error:
                    self.step_failed(step, str(error))
                pause_s = await self._paused("read", pause_s, told=pause_s > _MOMENT_S)
        except Exception as error:
            given_up = str(error) if isinstance(error, RowUnreadable) else type(error).__name__
            raise
        finally:
            self.step_mended(step, given_up=given_up)

    def step_failed(self, step: str, why: str, *, known: bool = False, whose: str = "") -> None:
        """Note that a step of the bot's own failed; people are told once it keeps failing.

        `known`: it follows from what they were told already. `whose`: who tried it.
        """
        self._tell(self.failing.failed(step, self.clock.now_ms(), why, known=known, whose=whose))

    def step_hangs(self, step: str, since_ms: int) -> None:
        """Note that a step of the bot's own does not end; people are told once."""
        self._tell(self.failing.hangs(step, since_ms))

    def step_ended(self, step: str) -> None:
        """Note that it has ended; give the all-clear where people were told that it did not."""
        self._tell(self.failing.ended(step, self.clock.now_ms()))

    def step_mended(self, step: str, whose: str = "", *, given_up: str = "") -> None:
        """Note that a step went well; give the all-clear where it failed. `given_up`: why it is
        tried no more, which is no all-clear."""
        self._tell(self.failing.mended(step, self.clock.now_ms(), whose, given_up=given_up))

    def _tell(self, words: str | None) -> None:
        """Let people know; at the end, when no surface takes anything, by the log alone."""
        if words:
            (log.error if self.stopping else self.notifier.alert)(words)

    async def _paused(self, what: str, pause_s: float, *, told: bool) -> float:
        """Wait before the store is tried again; return how long to wait after the next failure.

        Near the end that is a moment: what the store takes until then is not lost.
        """
        pause_s = _MOMENT_S if self.stopping else pause_s
        tell = log.info if told else log.error  # many may wait for one thing
        tell("the store cannot be %s; trying again in %.1f s", what, pause_s)
        until_ms = self.clock.now_ms() + round(pause_s * 1000)
        await self.clock.sleep(_MOMENT_S)
        while not self.stopping and (left_ms := until_ms - self.clock.now_ms()) > 0:
            await self.clock.sleep(min(_MOMENT_S, left_ms / 1000))
        return min(_LONGEST_PAUSE_S, pause_s * 2)

    async def _tried(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit; tell people of the first one that the store does not take."""
        try:
            return await self.store.write(unit)
        except RowAtFault as error:
            await self.check_others(error)
            raise
        except StoreUnavailable as error:
            self._not_taken(error)
            raise

    async def check_others(self, error: RowAtFault) -> None:
        """Raise StoreUnavailable, and tell people, where no other unit is taken either."""
        if isinstance(error, RowRefused) and not await takes_others(self.store):
            self._not_taken(error)
            raise StoreUnavailable(str(error)) from error

    def _not_taken(self, error: StoreUnavailable) -> None:
        if not isinstance(error, StoreClosed):  # by the bot itself, which ends
            self._tell(self.unwritten.failed(self.clock.now_ms(), str(error)))

    async def _written(self, *, news: bool = True) -> None:
        """Let the surfaces know of a unit, and give the all-clear once no other still fails."""
        if news:
            self.notifier.nudge()
        if not self._owes() and await self.unwritten.over(self.store) and not self._owes():
            self._tell(self.unwritten.mended(self.clock.now_ms()))

    def _owes(self) -> bool:
        """Say whether a write waits for the store itself, not for one row of it."""
        return any(not isinstance(why, RowAtFault) for why in self.owed.values())

    def spawn(
        self, work: Coroutine[Any, Any, T], *, calls_for: str = "", told: Told = ()
    ) -> asyncio.Task[T]:
        """Start work that goes on although its caller is cancelled.

        `calls_for` is the id of the proposal whose tool it calls, where it calls one; of failures
        that are `told` people hear otherwise, as of a store that takes nothing.
        """
        task = asyncio.create_task(work)
        self.tasks.add(task)
        if calls_for:
            self.calls[task] = calls_for
        task.add_done_callback(partial(self._finished, told))
        return task

    async def surely(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work to its end, and wait for it as long as the caller likes."""
        return await asyncio.shield(self.spawn(work))

    async def write_each(
        self, proposal_ids: Sequence[str], unit: Callable[[Transaction, Sequence[str]], int]
    ) -> int:
        """Run one unit for all of these, and one for each where a row of one is at fault; return
        what they counted."""
        if not proposal_ids:
            return 0
        try:
            return await self.write(lambda tx: unit(tx, proposal_ids))
        except RowAtFault:
            pass
        count = 0
        for each in proposal_ids:
            count += await self.beside(each, self.write(partial(_of_one, unit, each))) or 0
        return count

    async def beside(self, proposal_id: str, work: Coroutine[Any, Any, T]) -> T | None:
        """Do one of many works; what goes wrong with it stands in the way of none beside it.

        Raises StoreUnavailable where it is the store, which fails for all of them.
        """
        try:
            return await work
        except RowAtFault as error:
            self._tell_once(proposal_id, str(error))
            if not isinstance(error, RowUnreadable):
                note_row(error)  # it may be mended, and nothing else says that it stands
        except StoreUnavailable:
            raise
        except Exception as error:
            self._tell_once(proposal_id, f"{located(error)}: an operator must look at it.")
        return None

    def _tell_once(self, proposal_id: str, what: str) -> None:
        self.say_once(f"{proposal_id} was left as it is: {what}")

    def say_once(self, words: str) -> None:
        """Say to the log, once, what is met again at every round."""
        if words not in self.told:
            if len(self.told) >= _MOST_TOLD:
                self.told.clear()
            self.told.add(words)
            log.error("%s", words)

    async def idle(self) -> None:
        """Wait until nothing that was started is still going on, whoever started it."""
        while others := self.tasks - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def called(self, proposal_ids: Collection[str]) -> None:
        """Wait until no tool is called for any of these proposals; calls for others go on."""
        while ours := [task for task, about in self.calls.items() if about in proposal_ids]:
            await asyncio.wait(ours)

    def _finished(self, told: Told, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        self.calls.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            known = told if self.unwritten.since_ms is None else (*told, StoreUnavailable)
            is_told = isinstance(error, (*known, StoreClosed)) and not isinstance(error, RowAtFault)
            (log.info if is_told else log.error)("background work failed: %s", located(error))


def _of_one(unit: Callable[[Transaction, Sequence[str]], int], each: str, tx: Transaction) -> int:
    return unit(tx, [each])
