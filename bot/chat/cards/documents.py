"""Writes JSON answers to agents; if one is too large, its gist, with the whole in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.cards.fitting import Attachment
from bot.chat.cards.letters import invisible

_GIST: Final = (
    "proposal_id",
    "state",
    "tier",
    "outcome",
    "reason",
    "digest",
    "retry",
    "retry_after_s",
)


#: Only characters beyond visible ASCII can be invisible; outside of strings JSON has none of them.
_BEYOND_ASCII: Final = re.compile(r"[^ -~\n]")


def json_shown(document: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return the document as JSON in which every invisible character is escaped, as JSON allows.

    So people see all of it, and it means the same to a program that parses it.
    """
    return _BEYOND_ASCII.sub(_seen, json.dumps(document, ensure_ascii=False, indent=indent))


def _seen(found: re.Match[str]) -> str:
    char = found[0]
    return json.dumps(char)[1:-1] if invisible(char) else char


def told_once(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without the receipt in `execution` if `result` repeats it.

    Written once it often fits a message that people read without opening a file.
    """
    execution = document.get("execution")
    if not isinstance(execution, Mapping) or execution.get("receipt") != document.get("result"):
        return dict(document)
    spared = {key: value for key, value in execution.items() if key != "receipt"}
    return {**document, "execution": spared}


def gist_of(document: Mapping[str, Any], attached: str) -> dict[str, Any]:
    """Return what decides how an agent goes on, and the name of the file with the rest."""
    return {key: document[key] for key in _GIST if key in document} | {"attached": attached}


def whole_of(document: Mapping[str, Any], name: str) -> Attachment:
    """Return the whole document as a file."""
    return Attachment(name, json_shown(document, indent=1) + "\n")
