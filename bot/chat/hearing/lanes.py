"""Keeps events in lanes: each is processed behind those that came before it in its lane."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from bot.chat.hearing.owners import USER


class _Lane:
    """One lane: the lock that is held in a turn, and the events that are not processed yet."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.events: dict[str, Mapping[str, Any]] = {}


class Lanes:
    """The lanes in which something waits, by name; `whole` is True once what a former process left
    stands in them as well."""

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole
        self._lanes: dict[str, _Lane] = {}

    def __len__(self) -> int:
        """Return how many lanes there are."""
        return len(self._lanes)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the lanes."""
        return iter(self._lanes)

    def events(self) -> set[str]:
        """Return the ids of the events that are in memory already, as they came."""
        return {each for lane in self._lanes.values() for each in lane.events}

    def users(self, name: str) -> frozenset[str]:
        """Return the accounts whose events wait in a lane, as the platform names them."""
        lane = self._lanes.get(name)
        events = lane.events.values() if lane is not None else ()
        return frozenset(str(each[USER]) for each in events if USER in each)

    def enter(self, event_id: str, name: str, payload: Mapping[str, Any]) -> asyncio.Lock | None:
        """Let an event stand in a lane; return the lock that is held in its turn, None if it stands
        there already. Turns come in the order in which callers ask for the lock."""
        lane = self._lanes.setdefault(name, _Lane())
        if event_id in lane.events:
            return None
        lane.events[event_id] = payload
        return lane.turn

    def leave(self, event_id: str, name: str) -> None:
        """Take an event out of its lane: it was processed, or waits for another process."""
        self._lanes[name].events.pop(event_id, None)
        if not self._lanes[name].events:
            del self._lanes[name]
