"""Recognises, by its text, a message of the bot that shows a proposal but is not its card.

The answer to `show` says everything that a card says, so people put ✅ and ❌ on it. Nothing counts
there, and whoever decides there is told where the card is.
"""

from __future__ import annotations

import re
from typing import Final

#: The footer of a card, as a line of its own. Nobody else can write such a line into an answer,
#: because what others wrote has no line breaks there.
_MARK: Final = re.compile(
    r"^([A-Za-z0-9._-]{1,64}) · sha256:[0-9a-f]{64} · version \d{1,9}(?=`*$)", re.MULTILINE
)


def shown_in(text: str) -> str | None:
    """Return the id of the proposal that a message of the bot shows, None if it shows none.

    The last footer in the text counts. The text may be escaped for Discord, or stand in a fence.
    """
    found = _MARK.findall(text.replace("\\", ""))
    return str(found[-1]) if found else None
