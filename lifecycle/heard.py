"""Stops that a platform delivered and that are not worked yet: what they are of stands still.

An inbox stores a stop before it is acknowledged and works it off behind that, which takes as long
as the platform lets it. Nothing may be made final over it meanwhile, on whichever surface it came
and whichever process is to work it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from lifecycle.books import Transaction
from lifecycle.proposal import Proposal

FLAG: Final = "stops_heard"
#: What a proposal waits for while such a stop is of it.
HEARD: Final = "a stop that was heard and is not carried out yet"
#: What stands for all of them where somebody wrote over what is kept.
_NO_ROWS: Final = "?"
#: A message may be a card that is posted and not written down yet; so long it may be anything's.
UNPLACED_MS: Final = 10_000
#: What nobody could work for so long a person may let go of.
OVERDUE_MS: Final = 60_000
#: So long is no trouble yet: it is being worked.
SOON_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class HeardStop:
    """One stop: of a proposal, or on a message that was no card when it came; else of everything.

    `key` is its own over all surfaces and processes. One that `takes_back` somebody's word (a ✅
    that was taken off, a proposal that was withdrawn) holds what that word may lead to alone: a
    beginning, or an early end. What executes already goes on over it.
    """

    key: str
    surface: str
    at_ms: int
    proposal_id: str | None = None
    message_id: str | None = None
    takes_back: bool = False

    @property
    def decides(self) -> bool:
        """True where it is a person's no to one proposal, once that is known; a freeze is none."""
        return not self.takes_back and (self.proposal_id is not None or self.unplaced)

    @property
    def unplaced(self) -> bool:
        """True where nobody knows what it is of, and that may be nothing."""
        return self.proposal_id is None and self.message_id is not None


def key_of(surface: str, event_id: str) -> str:
    """Return what a stop is called over all surfaces and processes."""
    return f"{surface}:{event_id}"


class HeardStops:
    """The stops that wait. Changed by whoever takes and works them, read within units, live.

    A unit may run in another thread: each reading is a single look at one of the dictionaries.
    """

    def __init__(self) -> None:
        self._all: dict[str, HeardStop] = {}
        self._named: dict[str, dict[str, HeardStop]] = {}
        self._others: dict[str, HeardStop] = {}
        self._numbers = count()

    @contextmanager
    def meanwhile(
        self, surface: str, at_ms: int, proposal_id: str | None, *, takes_back: bool = False
    ) -> Iterator[None]:
        """Let a stop that is being carried out wait, in memory alone, until that is done; a freeze
        is of no one proposal."""
        key = f"act:{next(self._numbers)}"
        stop = HeardStop(key, surface, at_ms, proposal_id, takes_back=takes_back)
        self.add(stop)
        try:
            yield
        finally:
            self.drop(stop.key)

    def add(self, stop: HeardStop) -> bool:
        """Let it wait; False where it does already, of which more may be known now.

        What is known of it stays known where it is told of again: of what it is, and since when.
        """
        known = self._all.get(stop.key)
        if known is not None:
            of_what, at_ms = stop.proposal_id or known.proposal_id, min(stop.at_ms, known.at_ms)
            stop = replace(stop, proposal_id=of_what, at_ms=at_ms)
        self._all[stop.key] = stop
        if stop.proposal_id is None:
            self._others[stop.key] = stop
        else:
            self._named.setdefault(stop.proposal_id, {})[stop.key] = stop
            self._others.pop(stop.key, None)
        return known is None

    def get(self, key: str) -> HeardStop | None:
        """Return the stop of this key where it waits."""
        return self._all.get(key)

    def since_ms(self, surface: str, event_id: str | None) -> int | None:
        """Return when the stop of this event was heard; None where no such one waits."""
        stop = self._all.get(key_of(surface, event_id)) if event_id is not None else None
        return None if stop is None else stop.at_ms

    def drop(self, key: str) -> None:
        """It was worked: what it was of goes on."""
        stop = self._all.pop(key, None)
        if stop is None:
            return
        self._others.pop(key, None)
        named = self._named.get(stop.proposal_id or "", {})
        named.pop(key, None)
        if not named:
            self._named.pop(stop.proposal_id or "", None)

    def of(self, proposal_id: str) -> tuple[HeardStop, ...]:
        """Return what waits and is, or may be, of this proposal or of everything."""
        if not self._all:
            return ()
        named = self._named.get(proposal_id)
        return (*(tuple(named.values()) if named else ()), *tuple(self._others.values()))

    def unplaced(self) -> tuple[HeardStop, ...]:
        """Return those of which nobody knew what they are of when they came."""
        return tuple(each for each in tuple(self._others.values()) if each.unplaced)

    def ids(self) -> frozenset[str]:
        """Return the proposals that a stop is known to be of."""
        return frozenset(tuple(self._named))

    def freezes(self) -> tuple[HeardStop, ...]:
        """Return those that are of everything."""
        return tuple(each for each in tuple(self._others.values()) if not each.unplaced)

    def late(self, now_ms: int, proposal_id: str) -> tuple[HeardStop, ...]:
        """Return what holds a window and waits for longer than working it takes."""
        waiting = (e for e in self.of(proposal_id) if not (e.unplaced or e.takes_back))
        return tuple(each for each in waiting if now_ms - each.at_ms > SOON_MS)

    def overdue(self, now_ms: int, proposal_id: str | None = None) -> tuple[HeardStop, ...]:
        """Return what has waited too long and is of this proposal; of everything (a freeze) where
        none is named."""
        found = self._others if proposal_id is None else self._named.get(proposal_id, {})
        return tuple(
            each
            for each in tuple(found.values())
            if not each.unplaced and now_ms - each.at_ms >= OVERDUE_MS
        )

    def hold(self, tx: Transaction, now_ms: int, proposal_id: str, *, begun: bool) -> bool:
        """Say whether this proposal stands still for a stop; `begun`: nobody's word is needed for
        what comes next."""
        if not self._all:
            return False
        waiting = (each for each in self.of(proposal_id) if not (begun and each.takes_back))
        return any(_is_of(tx, now_ms, each, proposal_id) for each in waiting)

    def undecided(self, tx: Transaction, now_ms: int, proposal: Proposal) -> bool:
        """Say whether one that waits was heard before the deadline, and may decide over it yet."""
        named = (each for each in self.of(proposal.proposal_id) if each.decides)
        before = (each for each in named if each.at_ms < proposal.deadline_ms)
        return any(_is_of(tx, now_ms, each, proposal.proposal_id) for each in before)


def _is_of(tx: Transaction, now_ms: int, stop: HeardStop, proposal_id: str) -> bool:
    if not stop.unplaced:
        return True
    card = tx.cards.find(stop.surface, stop.message_id or "")
    if card is not None:
        return card.proposal_id == proposal_id
    return now_ms - stop.at_ms <= UNPLACED_MS


def note(tx: Transaction, stop: HeardStop) -> HeardStop:
    """Keep a stop beside what the inbox stores of it; return it with what is known of it now."""
    found = placed(tx, stop)
    tx.flags.put(FLAG, {**_kept(tx), found.key: _row(found)})
    return found


def placed(tx: Transaction, stop: HeardStop) -> HeardStop:
    """Return a stop with what it is of, where its message is known to be a card by now."""
    card = tx.cards.find(stop.surface, stop.message_id or "") if stop.unplaced else None
    return replace(stop, proposal_id=card.proposal_id) if card is not None else stop


def forget(tx: Transaction, keys: Iterable[str]) -> None:
    """Keep these no more."""
    kept = _kept(tx)
    left = {key: row for key, row in kept.items() if key not in set(keys)}
    if left != kept:
        tx.flags.put(FLAG, left)


def kept_stops(tx: Transaction) -> list[HeardStop]:
    """Return what a former process took and did not work."""
    return [_stop(key, row) for key, row in _kept(tx).items()]


def _kept(tx: Transaction) -> dict[str, Any]:
    kept = tx.flags.get(FLAG) or {}
    return dict(kept) if isinstance(kept, Mapping) else {_NO_ROWS: kept}


def _row(stop: HeardStop) -> dict[str, Any]:
    found = {"proposal_id": stop.proposal_id, "message_id": stop.message_id}
    named = {key: value for key, value in found.items() if value is not None}
    takes_back = {"takes_back": True} if stop.takes_back else {}
    return {"surface": stop.surface, "at_ms": stop.at_ms, **named, **takes_back}


def _stop(key: str, row: Any) -> HeardStop:
    """Return the stop in a row; one that tells nothing may be of everything, since ever."""
    told = row if isinstance(row, Mapping) else {}
    surface, at_ms = told.get("surface"), told.get("at_ms")
    of_what = (told.get("proposal_id"), told.get("message_id"))
    named = all(each is None or isinstance(each, str) for each in of_what)
    if not (named and isinstance(surface, str) and isinstance(at_ms, int)):
        return HeardStop(key, "", 0)
    return HeardStop(key, surface, at_ms, *of_what, takes_back=bool(told.get("takes_back")))
