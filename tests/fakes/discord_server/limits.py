"""Discord's limits on one message: what is over them is refused with 50035."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.discord_server.faults import Refused

_EMBED_TEXTS = (("title", 256), ("description", 4096))
_EMBED_TOTAL = 6000


def check_message(body: Mapping[str, Any], files: int) -> None:
    """Raise 50035, or 50006 for a message of nothing, where Discord would."""
    faults: list[str] = []
    content = body.get("content") or ""
    if len(content) > 2000:
        faults.append("content: Must be 2000 or fewer in length.")
    if len(str(body.get("nonce") or "")) > 25:
        faults.append("nonce: Must be 25 or fewer in length.")
    embeds = body.get("embeds") or []
    if len(embeds) > 10:
        faults.append("embeds: Must be 10 or fewer.")
    faults += [fault for embed in embeds for fault in _embed(embed)]
    if sum(map(_size, embeds)) > _EMBED_TOTAL:
        faults.append("embeds: Embed size exceeds maximum size of 6000")
    faults += _components(body.get("components") or [])
    if faults:
        errors = {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": each} for each in faults]}
        raise Refused(400, 50035, "Invalid Form Body", errors)
    if not content and not embeds and not files and not body.get("components"):
        raise Refused(400, 50006, "Cannot send an empty message")


def _embed(embed: Mapping[str, Any]) -> list[str]:
    faults = [
        f"{key}: Must be {most} or fewer in length."
        for key, most in _EMBED_TEXTS
        if len((embed.get(key) or "").strip()) > most
    ]
    fields = embed.get("fields") or []
    if len(fields) > 25:
        faults.append("fields: Must be 25 or fewer in length.")
    for each in fields:
        name, value = each.get("name", "").strip(), each.get("value", "").strip()
        if not 1 <= len(name) <= 256:
            faults.append("fields.name: Must be between 1 and 256 in length.")
        if not 1 <= len(value) <= 1024:
            faults.append("fields.value: Must be between 1 and 1024 in length.")
    if len(((embed.get("footer") or {}).get("text") or "").strip()) > 2048:
        faults.append("footer: Must be 2048 or fewer in length.")
    return faults


def _size(embed: Mapping[str, Any]) -> int:
    fields = embed.get("fields") or []
    texts = [embed.get("title"), embed.get("description"), (embed.get("footer") or {}).get("text")]
    texts += [text for each in fields for text in (each.get("name"), each.get("value"))]
    return sum(len((text or "").strip()) for text in texts)


def _components(rows: list[Mapping[str, Any]]) -> list[str]:
    buttons = [button for row in rows for button in row.get("components", [])]
    faults = [
        "components: custom_id must be between 1 and 100 in length."
        for button in buttons
        if not 1 <= len(button.get("custom_id", "x")) <= 100
    ]
    if any(len(row.get("components", [])) > 5 for row in rows):
        faults.append("components: Must be 5 or fewer in a row.")
    return faults
