"""What the stops of one surface hold while they wait, by event: from when each was heard on."""

from __future__ import annotations

import asyncio

from bot.chat.hearing.stops import StopOf
from lifecycle.heard import HeardStop, key_of
from lifecycle.world import World


class Holds:
    """Lets the law know what waits; whoever began a hold is to end it, or to pass it on."""

    def __init__(self, surface: str, world: World) -> None:
        self._surface = surface
        self._world = world
        self._passed_on: set[str] = set()

    def key(self, event_id: str) -> str:
        """Return what the stop of this event is called over all surfaces and processes."""
        return key_of(self._surface, event_id)

    def begin(self, event_id: str, at_ms: int, stops: StopOf | None) -> bool:
        """Let what was heard then hold what it stops from now on; True where whoever asks is to let
        go of it, False where that is another's, or where it stops nothing."""
        if stops is None:
            return False
        passed_on = event_id in self._passed_on
        self._passed_on.discard(event_id)
        stop = HeardStop(self.key(event_id), self._surface, at_ms, *stops)
        return self._world.heard.add(stop) or passed_on

    def get(self, event_id: str) -> HeardStop | None:
        """Return the stop of this event where it holds something."""
        return self._world.heard.get(self.key(event_id))

    def placed(self, event_id: str) -> bool:
        """Say whether something must stand still until a person, or the next start, comes to it:
        no stop is let go because of a mistake of ours."""
        stop = self.get(event_id)
        return stop is not None and not stop.unplaced

    def pass_on(self, event_id: str) -> None:
        """Let whoever tries it otherwise begin the same hold in this turn of the loop: it ends
        behind that, so that nothing begins in between, in whichever thread."""
        self._passed_on.add(event_id)
        asyncio.get_running_loop().call_soon(self._ended, event_id)

    def end(self, event_id: str) -> None:
        """Let go of it: it was worked, or waits for nobody."""
        self._world.heard.drop(self.key(event_id))

    def _ended(self, event_id: str) -> None:
        if event_id in self._passed_on:
            self._passed_on.discard(event_id)
            self.end(event_id)
