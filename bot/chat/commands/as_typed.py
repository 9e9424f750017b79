"""Writes the commands in a sentence as they are typed where the sentence is read.

The law names a remedy by its bare words, `retry p1`, for it knows no platform. Somebody who reads
that on Discord or Slack and types just that is not heard there: a prefix stands before it.
"""

from __future__ import annotations

import re
from typing import Final

from bot.chat.commands.help import COMMANDS

_ABOUT_ONE: Final = "|".join(
    re.escape(word) for word, (behind, _) in COMMANDS.items() if behind.startswith("<id>")
)
#: A stand-in for an id, in sentences about several proposals.
_ANY_ID: Final = "ID"
#: Not within a longer word, not behind a prefix, and not a command of the shell.
_ALONE: Final = r"(?<![\w/!@-])(?<!signoff )"
#: `thaw` has no id behind it; as a remedy it stands alone behind a colon.
_THAW: Final = r"(?<=: )thaw(?=[.;)]|$)"


def as_typed(words: str, prefix: str, proposal_id: str | None) -> str:
    """Return the words with `prefix` before each command that names this proposal, or `ID`, and
    before a `thaw` that is the remedy."""
    ids = "|".join(map(re.escape, filter(None, (proposal_id, _ANY_ID))))
    of_one = rf"{_ALONE}(?:{_ABOUT_ONE}) (?=(?:{ids})(?![\w-]|\.[\w.-]))"
    return re.sub(f"{of_one}|{_THAW}", lambda found: prefix + found[0], words)
