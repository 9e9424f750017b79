"""Holds what the stops of one surface are about, from when each was heard until it is processed."""

from __future__ import annotations

import asyncio

from bot.chat.hearing.stops import StopOf
from lifecycle.heard import HeardStop, key_of
from lifecycle.world import World


class Holds:
    """Tells the law which stops wait. Whoever began a hold must `end` it, or `pass_on`."""

    def __init__(self, surface: str, world: World) -> None:
        self._surface = surface
        self._world = world
        self._passed_on: set[str] = set()

    def key(self, event_id: str) -> str:
        """Return the key of this event's stop, which is unique over all surfaces and processes."""
        return key_of(self._surface, event_id)

    def begin(self, event_id: str, at_ms: int, stops: StopOf | None) -> bool:
        """Hold what an event stops from now on; `at_ms` is when it was heard.

        Return True if the caller now owns the hold and must call `end` or `pass_on`; False if
        another caller owns it, or if the event stops nothing.
        """
        if stops is None:
            return False
        passed_on = event_id in self._passed_on
        self._passed_on.discard(event_id)
        stop = HeardStop(self.key(event_id), self._surface, at_ms, *stops)
        return self._world.heard.add(stop) or passed_on

    def get(self, event_id: str) -> HeardStop | None:
        """Return the stop of this event if it holds something, else None."""
        return self._world.heard.get(self.key(event_id))

    def placed(self, event_id: str) -> bool:
        """Return whether this event's stop is about a known proposal, or about everything.

        Such a stop is not let go because of a mistake of ours: it holds until a person, or the next
        start, deals with it.
        """
        stop = self.get(event_id)
        return stop is not None and not stop.unplaced

    def pass_on(self, event_id: str) -> None:
        """Keep a hold to the end of this turn of the loop, so that another caller can `begin` it.

        Nothing can begin between the two owners, in whichever thread. If nobody takes it over, the
        hold ends.
        """
        self._passed_on.add(event_id)
        asyncio.get_running_loop().call_soon(self._ended, event_id)

    def end(self, event_id: str) -> None:
        """End the hold: its event was processed, or nobody is going to process it."""
        self._world.heard.drop(self.key(event_id))

    def _ended(self, event_id: str) -> None:
        if event_id in self._passed_on:
            self._passed_on.discard(event_id)
            self.end(event_id)
