"""Remembers in memory that the store cannot be written, and tries out when it can (section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lifecycle.audit import AuditEvent
from lifecycle.moment import clock_words
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction

#: As much as the largest document with all that is written beside it.
_ROOM: Final = "0" * 524_288
_ROOM_FLAG: Final = "room"
_ANY_TIME: Final = "1970-01-01T00:00:00.000Z"


@dataclass(slots=True)
class Unwritten:
    """Since when writes fail or wait for a store that does not answer (ms UTC; None while all is
    well), how many failed, and why the last one did.

    `looking` is True while it is tried out whether they work again.
    """

    since_ms: int | None = None
    attempts: int = 0
    why: str = ""
    looking: bool = False

    def failed(self, now_ms: int, why: str) -> str | None:
        """Note a failed write; for the first one return what people are to be told."""
        self.attempts, self.why = self.attempts + 1, why
        if self.attempts > 1:
            return None
        self.since_ms = now_ms if self.since_ms is None else self.since_ms
        return self.words()

    def hangs(self, since_ms: int) -> str | None:
        """Note that the store does not answer; return what people are to be told, None if they know
        of a trouble already."""
        if self.since_ms is not None:
            return None
        self.since_ms, self.why = since_ms, "it does not answer"
        return self.words()

    @property
    def only_hung(self) -> bool:
        """True while the store does not answer, and has refused nothing."""
        return self.since_ms is not None and not self.attempts

    async def over(self, store: ProposalStore) -> bool:
        """Return whether the trouble is over: the store takes as much as any unit may need.

        One write that went well is no proof: on a full disk a small one finds room in the log of
        the database, and the next one fails again.
        """
        if self.since_ms is None or self.looking:
            return False
        before, self.looking = self.attempts, True
        try:
            await store.write(_take_room)
            await store.write(_give_room_back)
            taken = await takes_others(store)
        except StoreUnavailable:
            return False
        finally:
            self.looking = False
        return taken and self.attempts == before

    def mended(self, now_ms: int) -> str | None:
        """Note that writes work again; return what people are to be told, None if nothing."""
        if self.since_ms is None:
            return None
        if self.only_hung:
            words = (
                f"The store answers again. It did not from {clock_words(self.since_ms)} to "
                f"{clock_words(now_ms)}. What waited for it is carried out now."
            )
        else:
            words = self._mended_words(self.since_ms, now_ms)
        self.since_ms, self.attempts, self.why = None, 0, ""
        return words

    def _mended_words(self, since_ms: int, now_ms: int) -> str:
        return (
            f"The store can be written again. From {clock_words(since_ms)} to "
            f"{clock_words(now_ms)} {self._attempts()} failed ({self.why}). Approvals and "
            "proposals that were refused meanwhile must be sent again; stops were kept."
        )

    def words(self) -> str | None:
        """Say how it stands, None while writes work."""
        if self.since_ms is None:
            return None
        if self.only_hung:
            return (
                f"The store does not answer since {clock_words(self.since_ms)}: its disk may hang. "
                "What was handed to it waits; nothing is approved, executed or closed until it "
                "answers, and what a ❌ or a freeze stopped stands still. Look at the disk "
                "(dmesg); to restart the bot does not help."
            )
        return (
            f"The store cannot be written since {clock_words(self.since_ms)} ({self.why}; "
            f"{self._attempts()} failed). Nothing is approved, executed or closed until it "
            "can; a ❌ and a freeze are kept. Free the disk or mend what stands in its way."
        )

    def _attempts(self) -> str:
        return "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"


async def takes_others(store: ProposalStore) -> bool:
    """Return whether the store takes what any unit may have: an entry, and something large.

    If it does, a unit that it refuses is at fault itself. Nothing of what is tried stays.
    """
    try:
        await store.write(_try_out)
    except _Taken:
        return True
    except StoreUnavailable:
        pass
    return False


class _Taken(Exception):
    """It could be written, and is to be undone."""


def _try_out(tx: Transaction) -> None:
    """Write an entry and see it stand, then undo all of it."""
    tx.flags.put(_ROOM_FLAG, _ROOM)
    entry = tx.audit.append(AuditEvent(at=_ANY_TIME, kind="tried"))
    tx.audit.exported(entry.seq - 1, 1)  # reading it back needs it to be written
    raise _Taken


def _take_room(tx: Transaction) -> None:
    """Write what a large unit writes; only what is committed has found its room."""
    tx.flags.put(_ROOM_FLAG, _ROOM)


def _give_room_back(tx: Transaction) -> None:
    tx.flags.put(_ROOM_FLAG, None)
