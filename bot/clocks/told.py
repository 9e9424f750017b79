"""Compares the clock with the newest entries of the trail, which may be later than it.

That happens after a wrong clock was put right. Windows, deadlines and permits are counted from the
clock, so people are told. The start, the job `tell_clock` and `status` ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.clocks.strayed import BOT_ALONE
from lifecycle.moment import clock_words, ms_of
from lifecycle.ports import Transaction

#: The clocks of two starts may differ by so much without a word, in ms.
_TOLERATED_MS: Final = 60_000
#: How many of the newest entries are looked at: the last ones may have been written by the clock
#: that is behind already.
_LOOKED_AT: Final = 100


def clock_behind(tx: Transaction, now_ms: int) -> str | None:
    """Return a line for people if one of the newest entries is later than `now_ms` by more than a
    minute, else None. A view."""
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
    """Return when an entry was written (ms UTC), 0 if that cannot be read."""
    try:
        return ms_of(entry["at"])
    except (KeyError, TypeError, ValueError):
        return 0
