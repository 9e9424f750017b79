"""Tells whether an answer of Slack's has the types that are read of it.

A proxy, or a server that only resembles Slack, may answer `ok` with anything. What is read of such
an answer would be an error of ours, after which an event is given up: it counts as no answer.

A list of messages also holds what others wrote, with anything that Slack or their apps put there.
Nothing of it is read, so nothing of it is checked: `whole` checks the messages that are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.chat.surface import SurfaceFailed

#: A type, `[shape]` for a list, or what the keys of an object hold; keys not named hold anything.
_Shape = Any
_MESSAGE: Final = {
    "ts": str,
    "metadata": {"event_payload": {}},
    "blocks": [{"elements": [{}]}],
    "files": [{}],
    "reactions": [{"users": [str]}],
}
_MESSAGES: Final = {"messages": [{}], "response_metadata": {"next_cursor": str}}
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


def whole(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message out of a list that is read now. Raises SurfaceFailed if something of it has
    another type than Slack's, or if it does not say which message it is."""
    if not message.get("ts") or not _fits(message, _MESSAGE):
        raise SurfaceFailed("a message in Slack's answer is none of Slack's")
    return message


def _fits(value: Any, shape: _Shape) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, Mapping) and all(
            _fits(value[key], inner)
            for key, inner in shape.items()
            if not _absent(value.get(key), inner)
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    return isinstance(value, shape)


def _absent(value: Any, shape: _Shape) -> bool:
    """Say whether nothing is there. Of an object without keys Slack makes a list in some places."""
    return value is None or (isinstance(shape, dict) and value == [])
