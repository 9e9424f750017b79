"""Text on its way into Slack and out of it: `& < >` escaped and unescaped exactly once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.cards.documents import json_shown

_LINK: Final = re.compile(r"<(?:mailto:|tel:)?([^<>|@#!][^<>|]*)(?:\|([^<>|]*))?>")
_SCHEME: Final = re.compile(r"^(?:https?://|mailto:|tel:)")
_TICK: Final = "`"


def escape(text: str) -> str:
    """Return text that Slack shows literally: no mention, no link, no channel alarm."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Return the text of an event as it was typed.

    What stands in angle brackets was put there by Slack: an address that it made a link of by
    itself is taken out of them; a link under another label and a mention stay as they are.
    """
    text = _LINK.sub(_plain, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def measure(text: str) -> int:
    """Return how many characters Slack counts for a text: it counts them escaped."""
    return len(escape(text))


def fenced(document: Mapping[str, Any]) -> str:
    """Return one JSON object in a fence that its own strings cannot close."""
    written = json_shown(document, indent=1)
    return "```" + escape(written.replace(_TICK, "\\u0060")) + "```"


def literal(text: str) -> str:
    """Return words in a fence, or bare where they are one line; nothing in them is markup."""
    shown = escape(text.replace("```", "'''"))
    return f"```{shown}```"


def _plain(found: re.Match[str]) -> str:
    address, label = found[1], found[2]
    if label is None:
        return address
    same = label in (address, _SCHEME.sub("", address), _SCHEME.sub("", address).rstrip("/"))
    return label if same else found[0]
