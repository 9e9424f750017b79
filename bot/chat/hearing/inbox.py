"""Stores what a platform delivered before that is acknowledged, and then processes it, once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from bot.chat.commands.typed import PROPOSING
from bot.chat.hearing.holds import Holds
from bot.chat.hearing.kept_events import KeptEvent, KeptEvents, Standing, Taken
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.not_worked import discard
from bot.chat.hearing.shown import as_heard, as_it_showed, with_shown
from bot.chat.hearing.stops import StopOf
from bot.chat.surface import SurfaceFailed
from bot.process.cancelling import being_cancelled
from lifecycle.heard import HeardStop, forget, note
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.world import World

log = logging.getLogger("signoff.inbox")

_LONGEST_PAUSE_S: Final = 60.0
#: After this long it is tried again to store a stop that is in memory alone.
_STORED_AGAIN_S: Final = 2.0
#: The last try, as the process ends, may take this long; all stops are tried at once.
_LAST_TRY_S: Final = 0.5
#: An event that meets a mistake of ours is processed this often before it is let go.
_MOST_FAILURES: Final = 3

Payload = Mapping[str, Any]
Work = Callable[[str, Payload], Awaitable[None]]
Take = Callable[[StopOf | None], Awaitable[Taken]]


class Inbox:
    """The events of one surface. Events of one lane (a person's, or a card's) keep their order.

    An event id is remembered for 24 hours. `resume` processes what a former process stored and did
    not finish, except what nobody may have said, and what waited in a copy that was brought back
    and is no stop; the law knows what it has done already. While a stop waits, the law lets nothing
    become final that it is about (`lifecycle.heard`).
    """

    def __init__(self, surface: str, world: World, work: Work) -> None:
        self._surface = surface
        self._world = world
        self._work = work
        self._kept = KeptEvents(surface, world.ring)
        self._holds = Holds(surface, world)
        self._pace = asyncio.Lock()
        self.lanes = Lanes()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def quiet(self) -> bool:
        """True while nothing that was taken waits to be processed."""
        return not self._tasks

    @property
    def heard_out(self) -> bool:
        """True while nothing waits that may decide; proposals may wait, which take their time."""
        return all(lane.startswith(PROPOSING) for lane in self.lanes)

    async def take(
        self, event_id: str, lane: str, payload: Payload, stops: StopOf | None = None
    ) -> bool:
        """Store an event and process it soon; return False if it was taken before.

        `stops` is what it is a stop of. Raises StoreUnavailable: then it must not be acknowledged.
        """
        return (await self._taken(event_id, lane, payload, self._world.clock.now_ms(), stops)).fresh

    async def _taken(
        self, event_id: str, lane: str, payload: Payload, now_ms: int, stops: StopOf | None
    ) -> Taken:
        """Take an event that was heard at `now_ms`."""
        payload = as_heard(self._world, self._surface, payload)
        new, fresh = self._holds.begin(event_id, now_ms, stops), False
        stop = self._holds.get(event_id) if stops is not None else None
        ended = self._holds.pass_on  # to `work_unstored`, if the event cannot be stored
        try:
            taken, stop = await self._stored(event_id, lane, payload, now_ms, stop)
            fresh, ended = taken.fresh and self._begin(event_id, lane, payload), self._holds.end
        finally:
            if new and not fresh:
                ended(event_id)
        if stop is not None and fresh:
            self._world.heard.add(stop)
        return taken._replace(fresh=fresh)

    def work_unstored(
        self,
        event_id: str,
        lane: str,
        payload: Payload,
        stops: StopOf | None = None,
        *,
        again: bool,
    ) -> Coroutine[Any, Any, None]:
        """Process what could not be stored; what it stops may not become final from now on.

        If `again`, it is tried until it can be processed or stored; the last try to store it is as
        the process ends. Else it is tried one time, for it is delivered again or its sender is
        told. Raises SurfaceFailed, StoreUnavailable.
        """
        now_ms = self._world.clock.now_ms()
        new = self._holds.begin(event_id, now_ms, stops)
        heard = as_heard(self._world, self._surface, payload)
        take = partial(self._taken, event_id, lane, heard, now_ms)
        return self._tried(event_id, heard, take, stops, new=new, again=again)

    async def _tried(
        self,
        event_id: str,
        payload: Payload,
        take: Take,
        stops: StopOf | None,
        *,
        new: bool,
        again: bool,
    ) -> None:
        pause_s = 0.5
        try:
            while True:
                try:
                    await self._in_its_turn_of_the_loop()
                    with as_it_showed(payload):
                        await self._work(event_id, payload)
                    return
                except (Exception, asyncio.CancelledError) as error:
                    if not again:
                        raise
                    self._waits(event_id, error)
                    taken = await self._stored_by_now(event_id, take, stops, pause_s)
                    if taken is not None:  # whoever processes it ends the hold, also after a start
                        new = new and not taken.kept
                        return
                    if self._world.ending or being_cancelled():
                        raise
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        finally:
            if new and event_id not in self.lanes.events():
                self._holds.end(event_id)

    async def work_in_turn(self, event_id: str, lane: str, payload: Payload) -> None:
        """Process what could not be stored, in memory alone, before what comes after it in its
        lane: its removal must find it done. Raises SurfaceFailed, StoreUnavailable."""
        turn = self.lanes.enter(event_id, lane, payload)
        if turn is None:
            return
        payload = as_heard(self._world, self._surface, payload)
        view = partial(with_shown, surface=self._surface, lane=lane, payload=payload)
        shown = self._world.background.spawn(self._world.store.read(view))
        try:
            async with turn:
                await self.work_unstored(event_id, lane, await shown, again=False)
        finally:
            self.lanes.leave(event_id, lane)

    async def _stored_by_now(
        self, event_id: str, take: Take, stops: StopOf | None, pause_s: float
    ) -> Taken | None:
        """Try for `pause_s` seconds to store it: in memory alone it would end with the process.

        Return None if it cannot be stored. A stop that a person let go of does not hold again. The
        last try, as the process ends, is made at once.
        """
        while pause_s > 0:
            with suppress(asyncio.CancelledError):
                pausing_s = 0 if being_cancelled() else min(_STORED_AGAIN_S, pause_s)
                await self._world.clock.sleep(pausing_s)
            ends = self._world.ending or being_cancelled()
            holds = self._holds.get(event_id) is not None
            with suppress(StoreUnavailable, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(_LAST_TRY_S if ends else None):
                    return await take(stops if holds else None)
            pause_s = 0.0 if ends else max(pause_s - _STORED_AGAIN_S, float(being_cancelled()))
        return None

    async def _stored(
        self, event_id: str, lane: str, payload: dict[str, Any], now_ms: int, stop: HeardStop | None
    ) -> tuple[Taken, HeardStop | None]:
        """Store an event with what its card shows by now, which is added to the payload.

        Return what became of it, and the stop, with its proposal if that is known by now. An event
        that is there although nobody processes it was stored by a write that seemed to fail.
        """

        def unit(tx: Transaction) -> tuple[Taken, HeardStop | None]:
            if not tx.flags.first_time(self._surface, f"inbox:{event_id}", now_ms):
                taken, kept = self._kept.again(tx, event_id, resumed=self.lanes.whole)
                payload.update(kept)
                return taken, stop
            payload.update(with_shown(tx, self._surface, lane, payload))
            self._kept.put(tx, event_id, lane, payload)
            return Taken(True, True), note(tx, stop) if stop is not None else None

        return await self._world.store.write(unit)

    async def kept(self) -> tuple[str, ...]:
        """Return the ids of the events that were stored and not finished."""
        return tuple(await self._world.store.read(self._kept.rows))

    async def resume(self) -> int:
        """Process the events that were stored and not finished; return how many they are."""
        kept, begun = await self._world.store.read(self._kept.all), self.lanes.events()
        waiting = {name: each for name, each in kept.items() if name not in begun}
        ours = {name: each for name, each in waiting.items() if self._is_worked(name, each)}
        left = {name: each.standing for name, each in waiting.items() if name not in ours}
        if left:
            with suppress(StoreUnavailable):  # the next start tells of it
                await self._world.write(partial(discard, self._kept, left, self._world.moment()))
        for event_id, each in ours.items():
            self._begin(event_id, each.lane, each.payload)
        self.lanes.whole = True
        return len(ours)

    def _is_worked(self, event_id: str, each: KeptEvent) -> bool:
        """Return whether it is processed after a start; a stop is also if it waited in a copy."""
        stops = self._holds.get(event_id) is not None
        return each.standing is Standing.OURS or (stops and each.standing is Standing.OF_A_COPY)

    async def settled(self) -> None:
        """Wait until all that was taken is processed."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Stop processing; what is not finished stays on disk for the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, event_id: str, lane: str, payload: Payload) -> bool:
        """Process it in its lane, in a task; return False if it stands there already."""
        turn = self.lanes.enter(event_id, lane, payload)
        if turn is None:
            return False
        task = asyncio.create_task(self._in_turn(event_id, turn, payload))
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, event_id, lane))
        return True

    async def _in_turn(self, event_id: str, turn: asyncio.Lock, payload: Payload) -> None:
        async with turn:
            if await self._done(event_id, payload):
                await self._world.write_until_taken(lambda tx: self._forget(tx, event_id))
                self._holds.end(event_id)

    def _ended(self, task: asyncio.Task[None], event_id: str, lane: str) -> None:
        self._tasks.discard(task)
        self.lanes.leave(event_id, lane)

    async def _done(self, event_id: str, payload: Payload) -> bool:
        """Process until it is done, or met too many mistakes of ours; return False if it must be
        kept: the process stops first, or it is a stop that still holds something."""
        pause_s, failures = 0.5, 0
        while not self._world.ending:
            await self._in_its_turn_of_the_loop()
            try:
                with as_it_showed(payload):
                    await self._work(event_id, payload)
                return True
            except (StoreUnavailable, SurfaceFailed, MemoryError) as error:
                pause_s = await self._paused(event_id, error, pause_s)
            except BaseException as error:
                if being_cancelled() or not isinstance(error, Exception | asyncio.CancelledError):
                    raise
                failures += 1  # what cannot be processed must not come back for ever
                log.error("%s: event %s: %s", self._surface, event_id, located(error))
                if failures >= _MOST_FAILURES:
                    return not self._holds.placed(event_id)
                await self._world.clock.sleep(pause_s)
        return False

    async def _paused(self, event_id: str, error: Exception, pause_s: float) -> float:
        """Wait before it is processed again; return how long to wait next time, in seconds."""
        self._waits(event_id, error)
        await self._world.clock.sleep(pause_s)
        return min(_LONGEST_PAUSE_S, pause_s * 2)

    def _waits(self, event_id: str, error: BaseException) -> None:
        told = isinstance(error, StoreUnavailable | SurfaceFailed | MemoryError)
        why = (str(error) or type(error).__name__) if told else located(error)
        log.warning("%s: event %s waits: %s", self._surface, event_id, why)

    async def _in_its_turn_of_the_loop(self) -> None:
        """Let one event of a burst begin in each turn of the loop, so that all else goes on."""
        async with self._pace:
            await asyncio.sleep(0)

    def _forget(self, tx: Transaction, event_id: str) -> None:
        self._kept.drop(tx, event_id)
        forget(tx, [self._holds.key(event_id)])
