"""What a platform delivered: on disk before it is acknowledged, worked off afterwards, once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from bot.cancelling import being_cancelled
from bot.chat.shown import as_it_showed, with_shown
from bot.chat.stops import StopOf
from bot.chat.surface import SurfaceFailed
from bot.chat.typed import PROPOSING
from lifecycle.acts import Act, note_ignored
from lifecycle.answers import Sender
from lifecycle.door import announce
from lifecycle.heard import HeardStop, forget, key_of, note
from lifecycle.located import located
from lifecycle.moment import Moment
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.sealing import holds, sealed
from lifecycle.world import World

log = logging.getLogger("signoff.inbox")

_LONGEST_PAUSE_S: Final = 60.0
#: So often an event is worked that met a mistake of ours, before it is let go.
_MOST_FAILURES: Final = 3

_NOT_OURS: Final = (
    "is not what the bot kept, and is not worked: somebody changed the database, or the key that "
    "signs permits is another one. Whoever decided or typed something just before the start: look "
    "whether it counted, else do it again. What it may have stopped stands still until somebody "
    "stops it, or lets go of that: retry ID (a freeze: thaw)."
)

Payload = Mapping[str, Any]
Work = Callable[[str, Payload], Awaitable[None]]


class _Lane:
    """What is worked in order: whose turn it is, and which events are not worked yet."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.events: set[str] = set()


class Inbox:
    """The events of one surface. Events of one lane (a person) are worked off in order.

    An event id is remembered for 24 hours. What a former process stored and did not finish is
    worked off again by `resume`; the law knows what it has done already. Each event stands in a
    place of its own, which another takes when it is done: in a flood of long ones none is written
    again because another comes. While one that stops something waits, the law lets nothing of that
    be made final (`lifecycle.heard`).
    """

    def __init__(self, surface: str, world: World, work: Work) -> None:
        self._surface = surface
        self._world = world
        self._work = work
        self._pace = asyncio.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def quiet(self) -> bool:
        """True while nothing that was taken waits to be worked off."""
        return not self._tasks

    @property
    def heard_out(self) -> bool:
        """True while nothing waits that may decide: an answer to a proposal takes its time."""
        return all(lane.startswith(PROPOSING) for lane in self._lanes)

    async def take(
        self, event_id: str, lane: str, payload: Payload, stops: StopOf | None = None
    ) -> bool:
        """Store an event and work it off soon; False where it was taken before.

        `stops` says of what it is a stop. Raises StoreUnavailable: it must not be acknowledged
        then.
        """
        now_ms, payload = self._world.clock.now_ms(), dict(payload)
        stop = self._stop(event_id, now_ms, stops) if stops is not None else None
        new = stop is not None and self._world.heard.add(stop)
        fresh = False
        try:
            fresh, stop = await self._stored(event_id, lane, payload, now_ms, stop)
        finally:
            if new and not fresh:
                self._world.heard.drop(self._key(event_id))
        if stop is not None and fresh:
            self._world.heard.add(stop)
        if fresh:
            self._begin(event_id, lane, payload)
        return fresh

    async def work_unstored(
        self, event_id: str, payload: Payload, stops: StopOf | None = None
    ) -> None:
        """Work what could not be stored; the law lets nothing be made final over it meanwhile."""
        now_ms = self._world.clock.now_ms()
        new = stops is not None and self._world.heard.add(self._stop(event_id, now_ms, stops))
        try:
            await self._in_its_turn_of_the_loop()
            await self._work(event_id, payload)
        finally:
            if new:
                self._world.heard.drop(self._key(event_id))

    async def _stored(
        self, event_id: str, lane: str, payload: dict[str, Any], now_ms: int, stop: HeardStop | None
    ) -> tuple[bool, HeardStop | None]:
        """Write it down, with what its card shows by now, which is added to the payload.

        Return whether it is new, and the stop with what is known of it.
        """

        def unit(tx: Transaction) -> tuple[bool, HeardStop | None]:
            if not tx.flags.first_time(self._surface, f"inbox:{event_id}", now_ms):
                return False, stop
            kept = self._kept(tx)
            place = _free({each.get("place") for each in kept.values()})
            payload.update(with_shown(tx, self._surface, lane, payload))
            tx.flags.put(self._place(place), payload)
            seal = sealed(self._world.ring, self._surface, event_id, lane, payload)
            row = {"lane": lane, "place": place, "seal": seal}
            tx.flags.put(self._flag, kept | {event_id: row})
            return True, note(tx, stop) if stop is not None else None

        return await self._world.store.write(unit)

    async def kept(self) -> tuple[str, ...]:
        """Return the ids of what was stored and not finished."""
        return tuple(await self._world.store.read(self._kept))

    async def resume(self) -> int:
        """Work off what was stored and not finished; return how much that is."""
        kept = await self._world.store.read(self._all)
        ours = {name: each for name, each in kept.items() if self._is_ours(name, each)}
        if not_ours := kept.keys() - ours.keys():
            unit = partial(self._let_go, sorted(not_ours), self._world.moment())
            with suppress(StoreUnavailable):  # the next start tells of it
                await self._world.write(unit)
        for event_id, each in ours.items():
            self._begin(event_id, each["lane"], each["payload"])
        return len(ours)

    def _is_ours(self, event_id: str, each: Any) -> bool:
        """Say whether this was kept by a process of ours, as it stands."""
        if event_id in self._in_hand():
            return True  # in its memory it stands as it came
        try:
            parts = (self._surface, event_id, each["lane"], each["payload"])
            return holds(self._world.ring, each.get("seal"), *parts)
        except (TypeError, ValueError, KeyError, AttributeError):
            return False

    def _in_hand(self) -> set[str]:
        return {each for lane in self._lanes.values() for each in lane.events}

    def _let_go(self, event_ids: Sequence[str], moment: Moment, tx: Transaction) -> None:
        """Work nothing that nobody may have said, and tell people, who can say it again.

        What it may have stopped stands still all the same, until a person lets go of that.
        """
        nobody = Act("", Sender(self._surface, None, None))
        for event_id in event_ids:
            self._dropped(tx, event_id)
            note_ignored(tx, moment, nobody, "digest_mismatch")
        heard = f"{len(event_ids)} of what was heard on {self._surface} before the start"
        announce(tx, moment, f"{self._flag}:{moment.now_ms}", f"{heard} {_NOT_OURS}")

    async def settled(self) -> None:
        """Wait until all that was taken is worked off."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Let go; what is not finished stays on disk for the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, event_id: str, lane: str, payload: Payload) -> None:
        waiting = self._lanes.setdefault(lane, _Lane())
        if event_id in waiting.events:
            return
        waiting.events.add(event_id)
        task = asyncio.create_task(self._in_turn(event_id, waiting, payload))
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(ended, event_id, lane))

    async def _in_turn(self, event_id: str, lane: _Lane, payload: Payload) -> None:
        async with lane.turn:
            if await self._done(event_id, payload):
                await self._world.write_surely(lambda tx: self._forget(tx, event_id))
                self._world.heard.drop(self._key(event_id))

    def _ended(self, task: asyncio.Task[None], event_id: str, lane: str) -> None:
        self._tasks.discard(task)
        self._lanes[lane].events.discard(event_id)
        if not self._lanes[lane].events:
            del self._lanes[lane]

    async def _done(self, event_id: str, payload: Payload) -> bool:
        """Work until it is done; False where the process stops first and another must go on."""
        pause_s, failures = 0.5, 0
        while not self._world.stopping:
            await self._in_its_turn_of_the_loop()
            try:
                with as_it_showed(payload):
                    await self._work(event_id, payload)
                return True
            except (StoreUnavailable, SurfaceFailed) as error:
                log.warning("%s: event %s waits: %s", self._surface, event_id, error)
                await self._world.clock.sleep(pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            except BaseException as error:
                if being_cancelled() or not isinstance(error, Exception | asyncio.CancelledError):
                    raise
                # One event that cannot be understood must not come back for ever.
                failures += 1
                log.error("%s: event %s: %s", self._surface, event_id, located(error))
                if failures >= _MOST_FAILURES:
                    return not self._still_stops(event_id)
                await self._world.clock.sleep(pause_s)
        return False

    async def _in_its_turn_of_the_loop(self) -> None:
        """Let one event of a burst begin in each turn of the loop, so that all else goes on."""
        async with self._pace:
            await asyncio.sleep(0)

    def _still_stops(self, event_id: str) -> bool:
        """Say whether something must stand still until a person, or the next start, comes to it:
        no stop is let go because of a mistake of ours."""
        stop = self._world.heard.get(self._key(event_id))
        return stop is not None and not stop.unplaced

    def _key(self, event_id: str) -> str:
        return key_of(self._surface, event_id)

    def _stop(self, event_id: str, now_ms: int, stops: StopOf) -> HeardStop:
        return HeardStop(self._key(event_id), self._surface, now_ms, *stops)

    @property
    def _flag(self) -> str:
        return f"inbox:{self._surface}"

    def _place(self, number: int) -> str:
        return f"{self._flag}#{number}"

    def _kept(self, tx: Transaction) -> dict[str, Any]:
        return dict(tx.flags.get(self._flag) or {})

    def _all(self, tx: Transaction) -> dict[str, Any]:
        """Return every event with its payload; a former version kept it beside the lane."""
        return {
            event_id: {**each, "payload": each.get("payload") or self._payload(tx, each)}
            for event_id, each in self._kept(tx).items()
        }

    def _payload(self, tx: Transaction, each: Mapping[str, Any]) -> Any:
        return tx.flags.get(self._place(each["place"])) if "place" in each else None

    def _forget(self, tx: Transaction, event_id: str) -> None:
        self._dropped(tx, event_id)
        forget(tx, [self._key(event_id)])

    def _dropped(self, tx: Transaction, event_id: str) -> None:
        kept = self._kept(tx)
        gone = kept.pop(event_id, {})
        tx.flags.put(self._flag, kept)
        if "place" in gone:
            tx.flags.put(self._place(gone["place"]), None)


def _free(taken: Collection[int | None]) -> int:
    """Return the first place that nobody has."""
    return next(number for number in range(len(taken) + 1) if number not in taken)
