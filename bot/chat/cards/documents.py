"""JSON answers to agents that are too large for one message: the gist of it, and the whole."""

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


#: What a reader may not see, or see elsewhere than it stands; outside of strings JSON is ASCII.
_BEYOND_ASCII: Final = re.compile(r"[^ -~\n]")


def json_shown(document: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return the document as JSON in which nothing is invisible: that is escaped, as JSON may be.

    So it reads as it is, and means the same to who parses it.
    """
    return _BEYOND_ASCII.sub(_seen, json.dumps(document, ensure_ascii=False, indent=indent))


def _seen(found: re.Match[str]) -> str:
    char = found[0]
    return json.dumps(char)[1:-1] if invisible(char) else char


def told_once(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without the receipt in `execution` where `result` tells the same.

    Written once it often fits a message that people read without opening a file.
    """
    execution = document.get("execution")
    if not isinstance(execution, Mapping) or execution.get("receipt") != document.get("result"):
        return dict(document)
    spared = {key: value for key, value in execution.items() if key != "receipt"}
    return {**document, "execution": spared}


def gist_of(document: Mapping[str, Any], attached: str) -> dict[str, Any]:
    """Return what decides how an agent goes on, and in which file the rest stands."""
    return {key: document[key] for key in _GIST if key in document} | {"attached": attached}


def whole_of(document: Mapping[str, Any], name: str) -> Attachment:
    """Return the document as a file."""
    return Attachment(name, json_shown(document, indent=1) + "\n")
