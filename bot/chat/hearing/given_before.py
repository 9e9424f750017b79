"""Refuses commands that were typed before what they name existed: they were about something else.

A platform delivers again, for minutes, what nobody acknowledged. By then the bot may work with
another database, in which an id is another proposal's, or with a copy that was brought back. Slack
needs this: it tells when something was typed.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from bot.chat.commands.typed import LET_GO, split_id, typed
from lifecycle.answers import Reply
from lifecycle.copied import brought_back_ms
from lifecycle.freezing import frozen_since_ms
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.world import World

#: What is known of two clocks may be wrong by this much.
_APART_MS: Final = 5_000
#: A command about one proposal that comes within this time was typed for it: the bot's clock may be
#: ahead.
_LATE_MS: Final = 60_000
_THAW: Final = "thaw"
_WORDS: Final = (
    "That was typed before {} and reached the bot only now, so nothing was done. Look at it, and "
    "type it again."
)


async def given_before(world: World, text: str, given_ms: int | None) -> Reply | None:
    """Return the refusal of a command that was typed too early to be about what it names now, None
    if it may be about that. `given_ms` is when it was typed (ms UTC), None if nobody knows."""
    word, rest = typed(text)
    if given_ms is None or word not in (*LET_GO, _THAW):
        return None  # a stop counts whenever it was given
    proposal_id = "" if word == _THAW else split_id(rest)[0]
    try:
        since_ms = await world.store.read(partial(_since_ms, proposal_id))
    except RowUnreadable:
        return None  # the law will answer that
    now_ms = world.clock.now_ms()
    in_time = word != _THAW and now_ms - given_ms <= _LATE_MS
    # What lies ahead was noted by a clock that has been set back since.
    if in_time or not given_ms + _APART_MS < since_ms <= now_ms:
        return None
    what = f"{proposal_id} stood here," if proposal_id else "the freeze,"
    return Reply(_WORDS.format(what), "stale_card", proposal_id or None)


def given_or_heard(given_ms: int | None, now_ms: int) -> int:
    """Return the latest time at which what is heard now can have been given, ms UTC. A platform may
    tell of it late, or once more, and what came over another one meanwhile came after it."""
    return now_ms if given_ms is None else min(now_ms, given_ms + _APART_MS)


def _since_ms(proposal_id: str, tx: Transaction) -> int:
    """Return since when the proposal stands in this database, or the freeze if no id is given; 0 if
    it does not stand."""
    if not proposal_id:
        return frozen_since_ms(tx)
    proposal = tx.proposals.get(proposal_id)
    return max(proposal.created_at_ms, brought_back_ms(tx, proposal)) if proposal else 0
