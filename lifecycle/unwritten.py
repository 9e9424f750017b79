"""That the store could not be written, remembered where no store is needed (design section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lifecycle.moment import clock_words
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction

#: As much as the largest document with all that is written beside it.
_ROOM: Final = "0" * 524_288
_ROOM_FLAG: Final = "room"


@dataclass(slots=True)
class Unwritten:
    """Since when writes fail, how many did, and why the last one did; nothing where they work.

    `looking` while it is tried out whether they work again.
    """

    since_ms: int | None = None
    attempts: int = 0
    why: str = ""
    looking: bool = False

    def failed(self, now_ms: int, why: str) -> str | None:
        """Note a failed write; return for the first one what people are to be told."""
        self.attempts, self.why = self.attempts + 1, why
        if self.since_ms is not None:
            return None
        self.since_ms = now_ms
        return self.words()

    async def over(self, store: ProposalStore) -> bool:
        """Say whether the trouble is over: the store takes as much as any unit may need.

        A write that went well is no proof: on a full disk a small one finds room in the log of the
        database, and the next one fails again.
        """
        if self.since_ms is None or self.looking:
            return False
        before, self.looking = self.attempts, True
        try:
            await store.write(_take_room)
            await store.write(_give_room_back)
        except StoreUnavailable:
            return False
        finally:
            self.looking = False
        return self.attempts == before

    def mended(self, now_ms: int) -> str | None:
        """Note that writes work again; return what people are to be told of the time before."""
        if self.since_ms is None:
            return None
        words = (
            f"The store can be written again. From {clock_words(self.since_ms)} to "
            f"{clock_words(now_ms)} {self._attempts()} failed ({self.why}). Approvals and "
            "proposals that were refused meanwhile must be sent again; stops were kept."
        )
        self.since_ms, self.attempts, self.why = None, 0, ""
        return words

    def words(self) -> str | None:
        """Say how it stands, None where writes work."""
        if self.since_ms is None:
            return None
        return (
            f"The store cannot be written since {clock_words(self.since_ms)} ({self.why}; "
            f"{self._attempts()} failed). Nothing is approved, executed or closed until it "
            "can; a ❌ is kept. Free the disk or mend what stands in its way."
        )

    def _attempts(self) -> str:
        return "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"


def _take_room(tx: Transaction) -> None:
    """Write what a large unit writes; only what is committed has found its room."""
    tx.flags.put(_ROOM_FLAG, _ROOM)


def _give_room_back(tx: Transaction) -> None:
    tx.flags.put(_ROOM_FLAG, None)
