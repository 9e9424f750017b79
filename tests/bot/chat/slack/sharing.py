"""Files that are shared on Slack, wherever they lie."""

from __future__ import annotations

from typing import Any


async def shared(slack: Any, url: str) -> dict[str, Any]:
    """Let leila share a file that lies at an address; return the answer."""
    file = slack.server.a_file("p1.json", b"{}").as_json("")
    message, _ = await slack.server.says("ULEILA", "hello")
    await slack.server.event(
        {
            "type": "message",
            "user": "ULEILA",
            "bot_id": "BLEILA",
            "channel": "C0OPS",
            "ts": message.ts,
            "text": "<@USIGNOFF> propose",
            "files": [file | {"url_private": url, "url_private_download": url}],
            "subtype": "file_share",
        }
    )
    return dict(await slack.answered(reason="malformed_json"))
