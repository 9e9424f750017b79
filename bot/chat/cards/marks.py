"""Recognises by its words a message of ours that shows a proposal and is not its card.

The answer to `show` says everything that a card says, so that people put ✅ and ❌ on it.
"""

from __future__ import annotations

import re
from typing import Final

#: The footer of a card, as a line of its own. What others wrote has no line breaks in an answer.
_MARK: Final = re.compile(
    r"^([A-Za-z0-9._-]{1,64}) · sha256:[0-9a-f]{64} · version \d{1,9}(?=`*$)", re.MULTILINE
)


def shown_in(text: str) -> str | None:
    """Return which proposal a message of ours shows, by the last such line; None if it shows none.

    The text may be escaped as Discord takes it, or stand in a fence.
    """
    found = _MARK.findall(text.replace("\\", ""))
    return str(found[-1]) if found else None
