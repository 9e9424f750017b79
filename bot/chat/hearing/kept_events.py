"""Keeps the events of one surface's inbox in the store, sealed, and each in a place of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple
from zlib import crc32

from lifecycle.copied import noted_copy
from lifecycle.permit import KeyRing
from lifecycle.ports import Transaction
from lifecycle.sealing import holds, sealed

#: The event id that stands for all that a page kept, if somebody wrote over the page.
_NO_ROWS: Final = "?"
#: The first page holds this many events. In a flood the others stand on further pages, each on the
#: one that its id chooses, so that no page is written, or read, for all that wait.
_FIRST_PAGE: Final = 64
_MORE_PAGES: Final = 256


class Standing(Enum):
    """Tells whether a kept event may be processed.

    OURS: it is as a process of ours kept it. OF_A_COPY: so it is, but from before the copy was made
    that was brought back since, and it may have been processed after that. UNSEALED: an older
    version kept it without a seal, or somebody made it up. CHANGED: its seal does not fit it, so
    nobody said it.
    """

    OURS = "ours"
    OF_A_COPY = "of_a_copy"
    UNSEALED = "unsealed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """One event as it stands on disk."""

    standing: Standing
    lane: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


class Taken(NamedTuple):
    """What became of an event that was to be stored. `fresh`: it is processed because of that.
    `kept`: it, or another delivery of it, stays stored until it was processed."""

    fresh: bool
    kept: bool


class KeptEvents:
    """The events of one surface, by id. All methods run within units and views of the store."""

    def __init__(self, surface: str, ring: KeyRing) -> None:
        self.surface = surface
        self._ring = ring
        self._flag = f"inbox:{surface}"
        self._last = f"{self._flag}:last"

    def put(self, tx: Transaction, event_id: str, lane: str, payload: Mapping[str, Any]) -> None:
        """Keep an event in the first free place: in a flood of long events none is written again
        because another comes."""
        page, rows = self._flag, self._on(tx, self._flag)
        if len(rows) >= _FIRST_PAGE and event_id not in rows:
            page = self._page_of(event_id)
            rows = self._on(tx, page)
        place, copy = _free(rows), noted_copy(tx)
        tx.flags.put(_place(page, place), payload)
        seal = sealed(self._ring, self.surface, event_id, lane, payload, copy)
        number = self._next_number(tx)
        row = {"lane": lane, "number": number, "place": place, "copy": copy, "seal": seal}
        tx.flags.put(page, rows | {event_id: row})

    def drop(self, tx: Transaction, event_id: str) -> None:
        """Remove an event."""
        for page in self._pages() if event_id == _NO_ROWS else self._may_stand_on(event_id):
            rows = self._on(tx, page)
            if event_id in rows:
                gone = rows.pop(event_id)
                tx.flags.put(page, rows)
                if "place" in gone:
                    tx.flags.put(_place(page, gone["place"]), None)

    def rows(self, tx: Transaction) -> dict[str, dict[str, Any]]:
        """Return what stands beside the payloads, in the order in which it came."""
        return {event_id: row for _, event_id, row in self._in_order(tx)}

    def all(self, tx: Transaction) -> dict[str, KeptEvent]:
        """Return every event with its payload, in the order in which they came: what somebody did
        and then took back must not be processed the other way round."""
        copy = noted_copy(tx)
        return {
            event_id: self._event(tx, page, event_id, row, copy)
            for page, event_id, row in self._in_order(tx)
        }

    def again(
        self, tx: Transaction, event_id: str, *, resumed: bool
    ) -> tuple[Taken, Mapping[str, Any]]:
        """Return what becomes of an event that was stored before, and its payload if it is now
        processed: once what a former process left is `resumed`, if a process of ours kept it."""
        for page in self._may_stand_on(event_id):
            row = self._on(tx, page).get(event_id)
            if row is not None:
                event = self._event(tx, page, event_id, row, noted_copy(tx))
                ours = resumed and event.standing is Standing.OURS
                return Taken(fresh=ours, kept=True), event.payload if ours else {}
        return Taken(fresh=False, kept=False), {}

    def _event(
        self, tx: Transaction, page: str, event_id: str, row: Mapping[str, Any], copy: Any
    ) -> KeptEvent:
        payload = tx.flags.get(_place(page, row["place"])) if "place" in row else None
        lane = row.get("lane")
        of = (row["copy"],) if "copy" in row else ()  # which a former version did not note
        if not holds(self._ring, row.get("seal"), self.surface, event_id, lane, payload, *of):
            unsealed = "seal" not in row and isinstance(lane, str)
            return KeptEvent(Standing.UNSEALED if unsealed else Standing.CHANGED)
        standing = Standing.OURS if row.get("copy") == copy else Standing.OF_A_COPY
        return KeptEvent(standing, str(lane), payload or {})

    def _in_order(self, tx: Transaction) -> list[tuple[str, str, dict[str, Any]]]:
        """Return each row with its page and id, by number: events on different pages have no other
        order."""
        found = [
            (page, event_id, row)
            for page in self._pages()
            for event_id, row in self._on(tx, page).items()
        ]
        return sorted(found, key=lambda each: _number(each[2].get("number")))

    def _next_number(self, tx: Transaction) -> int:
        """Return a number above that of everything that waits, and note it."""
        last = _number(tx.flags.get(self._last))
        if last == 0:  # nothing was numbered yet, or somebody wrote over it
            last = max((_number(row.get("number")) for row in self.rows(tx).values()), default=0)
        tx.flags.put(self._last, last + 1)
        return last + 1

    def _pages(self) -> Iterator[str]:
        yield self._flag
        yield from (f"{self._flag}:{number}" for number in range(_MORE_PAGES))

    def _may_stand_on(self, event_id: str) -> tuple[str, str]:
        return self._flag, self._page_of(event_id)

    def _page_of(self, event_id: str) -> str:
        return f"{self._flag}:{crc32(event_id.encode('utf-8', 'surrogatepass')) % _MORE_PAGES}"

    def _on(self, tx: Transaction, page: str) -> dict[str, dict[str, Any]]:
        """Return the rows of a page; what somebody put there that is no row says nothing, and no
        seal holds it."""
        kept = tx.flags.get(page) or {}
        rows = kept if isinstance(kept, Mapping) else {_NO_ROWS: None}
        return {key: {**each} if isinstance(each, Mapping) else {} for key, each in rows.items()}


def _place(page: str, number: Any) -> str:
    return f"{page}#{number}"


def _number(noted: Any) -> int:
    """Return a number as it was noted; 0 for what a former version kept, which came before."""
    return noted if type(noted) is int else 0


def _free(rows: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the first place that no event has."""
    taken = [each.get("place") for each in rows.values()]
    return next(number for number in range(len(taken) + 1) if number not in taken)
