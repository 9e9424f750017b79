"""What a stop is about stands still from the moment the stop is heard until it is processed.

An inbox stores a stop, acknowledges it to its platform and processes it after that, which takes as
long as the platform lets it. Until then nothing may begin, commit or close over it, whichever
surface it came on and whichever process is to carry it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal

FLAG: Final = "stops_heard"
#: The words for what a proposal waits for while such a stop holds it.
HEARD: Final = "a stop that was heard and is not carried out yet"
#: The key that stands for all stops if somebody wrote over what is kept of them.
_NO_ROWS: Final = "?"
#: A message may be a card that was posted and is not written down yet: for this long an unplaced
#: stop holds every proposal.
UNPLACED_MS: Final = 10_000
#: A person may let go of a stop that could not be processed for this long.
OVERDUE_MS: Final = 60_000
#: A stop that waits for no longer than this is just being processed.
SOON_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class HeardStop:
    """One stop that waits: of one proposal, of a message that was no card when it came, or of
    everything.

    A freeze has neither `proposal_id` nor `message_id` and is of everything. `key` is unique over
    all surfaces and processes; `at_ms` is when it was heard, ms UTC. A stop that `takes_back`
    somebody's word (a ✅ that was taken off, a proposal that was withdrawn) holds only what that
    word may lead to: a beginning, or an early end. What executes already goes on over it.
    """

    key: str
    surface: str
    at_ms: int
    proposal_id: str | None = None
    message_id: str | None = None
    takes_back: bool = False

    @property
    def decides(self) -> bool:
        """True if it is a person's no to one proposal, known or not yet; a freeze is none."""
        return not self.takes_back and (self.proposal_id is not None or self.unplaced)

    @property
    def unplaced(self) -> bool:
        """True if nobody knows which proposal its message is about; it may be about none."""
        return self.proposal_id is None and self.message_id is not None


def key_of(surface: str, event_id: str) -> str:
    """Return the key of a stop, which is unique over all surfaces and processes."""
    return f"{surface}:{event_id}"


class HeardStops:
    """The stops that wait. Surfaces and jobs change them on the event loop; units read them live.

    A unit may run in another thread, so every read of a dictionary is a single step.
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
        """Hold a proposal while a stop of it is carried out, in memory alone; None holds
        everything, for a freeze."""
        key = f"act:{next(self._numbers)}"
        stop = HeardStop(key, surface, at_ms, proposal_id, takes_back=takes_back)
        self.add(stop)
        try:
            yield
        finally:
            self.drop(stop.key)

    def add(self, stop: HeardStop) -> bool:
        """Let a stop wait; return False if it waits already.

        If it is told of again, its proposal stays known once it was, and the earlier time counts.
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
        """Return the stop of this key, None if none waits."""
        return self._all.get(key)

    def since_ms(self, surface: str, event_id: str | None) -> int | None:
        """Return when the stop of this event was heard, ms UTC; None if no such stop waits."""
        stop = self._all.get(key_of(surface, event_id)) if event_id is not None else None
        return None if stop is None else stop.at_ms

    def drop(self, key: str) -> None:
        """End the hold of a stop that was processed."""
        stop = self._all.pop(key, None)
        if stop is None:
            return
        self._others.pop(key, None)
        named = self._named.get(stop.proposal_id or "", {})
        named.pop(key, None)
        if not named:
            self._named.pop(stop.proposal_id or "", None)

    def of(self, proposal_id: str) -> tuple[HeardStop, ...]:
        """Return the stops that are, or may be, about this proposal; freezes always are."""
        if not self._all:
            return ()
        named = self._named.get(proposal_id)
        return (*(tuple(named.values()) if named else ()), *tuple(self._others.values()))

    def unplaced(self) -> tuple[HeardStop, ...]:
        """Return the stops on messages that nobody knew as a card when they came."""
        return tuple(each for each in tuple(self._others.values()) if each.unplaced)

    def ids(self) -> frozenset[str]:
        """Return the proposals that a stop is known to be about."""
        return frozenset(tuple(self._named))

    def freezes(self) -> tuple[HeardStop, ...]:
        """Return the freezes that wait: the stops that are about everything."""
        return tuple(each for each in tuple(self._others.values()) if not each.unplaced)

    def late(self, now_ms: int, proposal_id: str) -> tuple[HeardStop, ...]:
        """Return the stops that keep this window open and wait longer than processing takes."""
        waiting = (e for e in self.of(proposal_id) if not (e.unplaced or e.takes_back))
        return tuple(each for each in waiting if now_ms - each.at_ms > SOON_MS)

    def overdue(self, now_ms: int, proposal_id: str | None = None) -> tuple[HeardStop, ...]:
        """Return the stops of this proposal that have waited for OVERDUE_MS, so that a person may
        let go of them; without a proposal, such freezes."""
        found = self._others if proposal_id is None else self._named.get(proposal_id, {})
        return tuple(
            each
            for each in tuple(found.values())
            if not each.unplaced and now_ms - each.at_ms >= OVERDUE_MS
        )

    def hold(self, tx: Transaction, now_ms: int, proposal_id: str, *, begun: bool) -> bool:
        """Return whether a stop holds this proposal. `begun`: what comes next needs nobody's word
        any more, so that a word taken back holds nothing."""
        if not self._all:
            return False
        waiting = (each for each in self.of(proposal_id) if not (begun and each.takes_back))
        return any(_is_of(tx, now_ms, each, proposal_id) for each in waiting)

    def undecided(self, tx: Transaction, now_ms: int, proposal: Proposal) -> bool:
        """Return whether a stop waits that was heard before the deadline and so may decide."""
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
    """Store a stop in the unit in which the inbox stores its event; return it, placed if known."""
    found = placed(tx, stop)
    tx.flags.put(FLAG, {**_kept(tx), found.key: _row(found)})
    return found


def placed(tx: Transaction, stop: HeardStop) -> HeardStop:
    """Return a stop with the proposal of its message, if that is known to be a card by now."""
    card = tx.cards.find(stop.surface, stop.message_id or "") if stop.unplaced else None
    return replace(stop, proposal_id=card.proposal_id) if card is not None else stop


def forget(tx: Transaction, keys: Iterable[str]) -> None:
    """Remove the stops of these keys from the store."""
    kept = _kept(tx)
    left = {key: row for key, row in kept.items() if key not in set(keys)}
    if left != kept:
        tx.flags.put(FLAG, left)


def kept_stops(tx: Transaction) -> list[HeardStop]:
    """Return the stops in the store: a former process took them and did not process them."""
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
    """Return the stop of a stored row; one that cannot be read is of everything, since ever."""
    told = row if isinstance(row, Mapping) else {}
    surface, at_ms = told.get("surface"), told.get("at_ms")
    of_what = (told.get("proposal_id"), told.get("message_id"))
    named = all(each is None or isinstance(each, str) for each in of_what)
    if not (named and isinstance(surface, str) and isinstance(at_ms, int)):
        return HeardStop(key, "", 0)
    return HeardStop(key, surface, at_ms, *of_what, takes_back=bool(told.get("takes_back")))
