"""Tells whether an answer of Slack's has the types that are read of it.

A proxy, or a server that only resembles Slack, may answer `ok` with anything. What is read of such
an answer would be an error of ours, after which an event is given up: it counts as no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: A type, `[shape]` for a list, or what the keys of an object hold; keys not named hold anything.
_Shape = Any
_MESSAGE: Final = {
    "ts": str,
    "metadata": {"event_payload": {}},
    "blocks": [{"elements": [{}]}],
    "files": [{}],
    "reactions": [{"users": [str]}],
}
_MESSAGES: Final = {"messages": [_MESSAGE], "response_metadata": {"next_cursor": str}}
_READ: Final[Mapping[str, _Shape]] = {
    "bots.info": {"bot": {"user_id": str}},
    "conversations.history": _MESSAGES,
    "conversations.info": {"channel": {}},
    "conversations.replies": _MESSAGES,
    "reactions.get": {"message": _MESSAGE},
    "users.info": {
        "user": {"team_id": str, "enterprise_user": {"enterprise_id": str, "teams": [str]}}
    },
}


def readable(method: str, answer: Mapping[str, Any]) -> bool:
    """Return False if something that is read of this method's answer has another type.

    What is null or left out is readable: whoever reads says what its absence means.
    """
    return _fits(answer, _READ.get(method, {}))


def _fits(value: Any, shape: _Shape) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, Mapping) and all(
            _fits(value[key], inner) for key, inner in shape.items() if value.get(key) is not None
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    return isinstance(value, shape)
