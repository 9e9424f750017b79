"""Escapes and unescapes `& < >` exactly once, for text on its way into Slack and out of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.cards.documents import json_shown

_LINK: Final = re.compile(r"<(?:mailto:|tel:)?([^<>|@#!][^<>|]*)(?:\|([^<>|]*))?>")
_SCHEME: Final = re.compile(r"^(?:https?://|mailto:|tel:)")
_TICK: Final = "`"
_TICK_SHOWN: Final = "\\u{60}"


def escape(text: str) -> str:
    """Return text that Slack shows literally: no mention, no link, no alarm of the channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Return the text of an event as it was typed.

    What stands in angle brackets was put there by Slack. An address that Slack made a link of by
    itself is taken out of them; a link with another label and a mention stay as they are.
    """
    text = _LINK.sub(_plain, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def measure(text: str) -> int:
    """Return the length that Slack counts for a text: it counts the escaped form."""
    return len(escape(text))


def fenced(document: Mapping[str, Any]) -> str:
    """Return one JSON object in a fence that its own strings cannot close."""
    written = json_shown(document, indent=1)
    return "```" + escape(written.replace(_TICK, "\\u0060")) + "```"


def literal(text: str) -> str:
    """Return words in a fence, in which nothing is markup and which nothing in them can end.

    Back-ticks that could end it are escaped, as in a box on Discord: quotes in their place would
    mean something else in a program.
    """
    ends = _TICK * 2 in text or text.endswith(_TICK) or text.startswith(_TICK)
    shown = escape(text.replace(_TICK, _TICK_SHOWN) if ends else text)
    return f"```{shown}```"


def _plain(found: re.Match[str]) -> str:
    address, label = found[1], found[2]
    if label is None:
        return address
    same = label in (address, _SCHEME.sub("", address), _SCHEME.sub("", address).rstrip("/"))
    return label if same else found[0]
