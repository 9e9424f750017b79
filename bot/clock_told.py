"""Whether the clock stands before what the trail already tells, as after a wrong clock was mended.

Windows, deadlines and permits are counted from it: a person should know before they wonder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.clock_strayed import BOT_ALONE
from lifecycle.moment import clock_words, ms_of
from lifecycle.ports import Transaction

#: Clocks of two starts may differ by so much without a word.
_TOLERATED_MS: Final = 60_000
#: The newest entry may have been written by the clock that is behind already.
_LOOKED_AT: Final = 100


def clock_behind(tx: Transaction, now_ms: int) -> str | None:
    """Return a line where the newest entries are later than now, None where none is. A view."""
    seq, _ = tx.audit.head()
    entries = tx.audit.exported(max(0, seq - _LOOKED_AT), _LOOKED_AT)
    latest_ms = max((_at_ms(entry) for entry in entries), default=0)
    if latest_ms - now_ms <= _TOLERATED_MS:
        return None
    return (
        f"The clock says {clock_words(now_ms)}, and the trail has an entry of "
        f"{clock_words(latest_ms)} already: one of them is wrong. Mend the clock, then restart "
        f"the bot. {BOT_ALONE}"
    )


def _at_ms(entry: Mapping[str, Any]) -> int:
    """Return when an entry was written; one that cannot be read tells nothing here."""
    try:
        return ms_of(entry["at"])
    except (KeyError, TypeError, ValueError):
        return 0
