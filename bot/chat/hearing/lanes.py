"""Lanes: what is worked in order, each event behind those that came before it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator


class _Lane:
    """Whose turn it is, and which events are not worked yet."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.events: set[str] = set()


class Lanes:
    """The lanes in which something waits, by name."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._lanes)

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._lanes)

    def events(self) -> set[str]:
        """Return what is in memory already, where it stands as it came."""
        return {each for lane in self._lanes.values() for each in lane.events}

    def enter(self, event_id: str, name: str) -> asyncio.Lock | None:
        """Let an event stand in a lane; return what is held in its turn, None where it stands
        there already. Turns come in the order in which that is asked for."""
        lane = self._lanes.setdefault(name, _Lane())
        if event_id in lane.events:
            return None
        lane.events.add(event_id)
        return lane.turn

    def leave(self, event_id: str, name: str) -> None:
        """It was worked, or waits for another process."""
        self._lanes[name].events.discard(event_id)
        if not self._lanes[name].events:
            del self._lanes[name]
