"""Drops events that an inbox kept and no start processes; people are told and can repeat them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bot.chat.hearing.kept_events import KeptEvents, Standing
from lifecycle.announcing import announce
from lifecycle.answers import Sender
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, note_ignored
from lifecycle.ports import Transaction

_LOOK: Final = (
    "Whoever decided or typed something just before the start: look whether it counted, else do it "
    "again. What it may have stopped stands still until somebody stops it, or lets go of that: "
    "retry ID (a freeze: thaw)."
)
_WHY: Final = {
    Standing.CHANGED: (
        "is not what the bot kept, and is not worked: somebody changed the database, or the key "
        f"that signs permits is another one. {_LOOK}"
    ),
    Standing.UNSEALED: (
        "is not what the bot kept under its seal, and is not worked: an older version kept it so, "
        "which the first start after an update finds; at any other start somebody changed the "
        f"database. {_LOOK}"
    ),
    Standing.OF_A_COPY: (
        "waited in the copy that was brought back, and is not worked: whether it was since, the "
        "copy does not know. Whoever decided, typed or proposed something just before that copy "
        "was made: look whether it was done, else do it again."
    ),
}
_CODES: Final = {
    Standing.CHANGED: "digest_mismatch",
    Standing.UNSEALED: "digest_mismatch",
    Standing.OF_A_COPY: "stale_card",
}


def discard(
    kept: KeptEvents, left: Mapping[str, Standing], moment: Moment, tx: Transaction
) -> None:
    """Drop these events and announce it: nobody may have said them, or they may be done already.
    What one of them may have stopped stands still all the same."""
    surface = kept.surface
    nobody = Act("", Sender(surface, None, None))
    for event_id, standing in sorted(left.items()):
        kept.drop(tx, event_id)
        note_ignored(tx, moment, nobody, _CODES[standing])
    for standing in sorted(set(left.values()), key=str):
        count = list(left.values()).count(standing)
        words = f"{count} of what was heard on {surface} before the start {_WHY[standing]}"
        announce(tx, moment, f"inbox:{surface}:{moment.now_ms}:{standing.value}", words)
