"""Builds and reads the modal that asks for a reason, and reads pressed buttons.

Twin: `discord/views.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.chat.hearing.signals import Signal
from bot.chat.slack.render import APPROVE, REJECT, Block

CALLBACK: Final = "signoff_reason"
_BLOCK: Final = "reason"
_INPUT: Final = "reason_text"
_LONGEST_REASON: Final = 1_000


@dataclass(frozen=True, slots=True)
class Pressed:
    """A pressed button of a card, or a modal that was sent: who, where, and which decision."""

    user: str
    team: str
    channel: str
    message_ts: str
    signal: Signal
    reason: str = ""


def pressed(body: Mapping[str, Any]) -> Pressed | None:
    """Read a block_actions payload; None for a button that is not ours."""
    action = (body.get("actions") or [{}])[0]
    signal = {APPROVE: Signal.APPROVE, REJECT: Signal.STOP}.get(action.get("action_id", ""))
    container = body.get("container") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id") or ""
    ts = container.get("message_ts") or (body.get("message") or {}).get("ts") or ""
    if signal is None:
        return None
    return Pressed(_user(body), _team(body), channel, ts, signal)


def modal(asked: Pressed) -> Block:
    """Return the modal that asks why."""
    where = {"channel": asked.channel, "message_ts": asked.message_ts}
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps(where),
        "title": {"type": "plain_text", "text": "Why not?"},
        # What it does depends on where the proposal stands when the form arrives.
        "submit": {"type": "plain_text", "text": "Reject or roll back"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [
            {
                "type": "input",
                "block_id": _BLOCK,
                "label": {"type": "plain_text", "text": "What should its proposer know?"},
                "element": {
                    "type": "plain_text_input",
                    "action_id": _INPUT,
                    "multiline": True,
                    "max_length": _LONGEST_REASON,
                },
            }
        ],
    }


def submitted(body: Mapping[str, Any]) -> Pressed | None:
    """Read a view_submission payload; None for a modal that is not ours."""
    view = body.get("view") or {}
    if view.get("callback_id") != CALLBACK:
        return None
    try:
        where = json.loads(view.get("private_metadata") or "{}")
    except ValueError:
        return None
    values = (view.get("state") or {}).get("values") or {}
    reason = ((values.get(_BLOCK) or {}).get(_INPUT) or {}).get("value") or ""
    channel, ts = str(where.get("channel", "")), str(where.get("message_ts", ""))
    return Pressed(_user(body), _team(body), channel, ts, Signal.STOP, reason.strip())


def no_reason() -> dict[str, Any]:
    """Return the answer to a modal that was sent without a reason."""
    return {"response_action": "errors", "errors": {_BLOCK: "Say why in a few words."}}


def _user(body: Mapping[str, Any]) -> str:
    return str((body.get("user") or {}).get("id", ""))


def _team(body: Mapping[str, Any]) -> str:
    user = body.get("user") or {}
    return str(user.get("team_id") or (body.get("team") or {}).get("id") or "")
