"""The limits of Block Kit that Slack enforces, and the undocumented one in all."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.slack_server.faults import SlackError

_TEXTS = {"section": 3000, "header": 150, "context": 3000}
_BLOCKS_IN_ALL = 13_200
_SECTION = frozenset({"type", "block_id", "text", "fields", "accessory", "expand"})


def check_post(text: str, blocks: list[dict[str, Any]]) -> None:
    """Refuse what chat.postMessage refuses."""
    if not text and not blocks:
        raise SlackError("no_text")
    check_blocks(blocks)


def check_update(text: str, blocks: list[dict[str, Any]]) -> None:
    """Refuse what chat.update refuses."""
    if len(text) > 4000:
        raise SlackError("msg_too_long")
    check_blocks(blocks)


def check_blocks(blocks: list[dict[str, Any]]) -> None:
    if len(blocks) > 50:
        raise SlackError("invalid_blocks", why="more than 50 blocks")
    for block in blocks:
        _check(block)
    size = sum(len(text["text"]) for text in texts_of(blocks))
    if size > _BLOCKS_IN_ALL:
        raise SlackError("msg_blocks_too_long")
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(set(ids)) != len(ids):
        raise SlackError("invalid_blocks", why="block_id twice")


def texts_of(value: Any) -> list[dict[str, Any]]:
    """Return every text object in blocks."""
    if isinstance(value, list):
        return [found for each in value for found in texts_of(each)]
    if not isinstance(value, dict):
        return []
    if value.get("type") in ("plain_text", "mrkdwn") and isinstance(value.get("text"), str):
        return [value]
    return [found for each in value.values() for found in texts_of(each)]


def _check(block: dict[str, Any]) -> None:
    kind = str(block.get("type"))
    for text in texts_of(block):
        _check_text(kind, text)
    if kind == "section":
        _check_section(block)
    if kind == "context" and not 0 < len(block.get("elements", [])) <= 10:
        raise SlackError("invalid_blocks", why="context elements")
    if kind == "actions":
        _check_actions(block)
    if kind not in ("section", "header", "context", "actions", "divider", "input"):
        raise SlackError("invalid_blocks", why=f"no block {kind!r}: {json.dumps(block)[:80]}")


def _check_text(kind: str, text: dict[str, Any]) -> None:
    if not text["text"]:
        raise SlackError("invalid_blocks", why="an empty text")
    if len(text["text"]) > _TEXTS.get(kind, 3000):
        raise SlackError("invalid_blocks", why=f"a {kind} of {len(text['text'])} characters")
    if text["type"] == "mrkdwn" and "emoji" in text:
        raise SlackError("invalid_blocks", why="emoji is for plain_text")


def _check_section(block: dict[str, Any]) -> None:
    fields = block.get("fields")
    if others := block.keys() - _SECTION:
        raise SlackError("invalid_blocks", why=f"invalid additional property: {others}")
    if "text" not in block and not fields:
        raise SlackError("invalid_blocks", why="a section without text")
    if fields is not None and not 0 < len(fields) <= 10:
        raise SlackError("invalid_blocks", why="more than 10 fields")
    if any(len(each["text"]) > 2000 for each in fields or ()):
        raise SlackError("invalid_blocks", why="a field of more than 2,000 characters")


def _check_actions(block: dict[str, Any]) -> None:
    elements = block.get("elements", [])
    if not 0 < len(elements) <= 25:
        raise SlackError("invalid_blocks", why="actions elements")
    for each in elements:
        bounds = (
            (each["text"]["text"], 75),
            (each["action_id"], 255),
            (each.get("value", ""), 2000),
        )
        if any(len(value) > most for value, most in bounds):
            raise SlackError("invalid_blocks", why="a button that is too long")
