"""Lets discord.py read JSON that says how its letters are written.

discord.py takes an answer for JSON only if its Content-Type is `application/json` and nothing else.
Web frameworks and proxies add `; charset=utf-8`: behind one of those every answer stayed a text,
and the bot tried to log in for ever.
"""

from __future__ import annotations

from typing import Any, Final

import aiohttp
import discord
import discord.webhook.async_ as webhooks

_JSON: Final = "application/json"


async def json_or_text(response: aiohttp.ClientResponse) -> Any:
    """Return what an answer holds, as a text if it is no JSON. Raises ValueError if it says that it
    is JSON and cannot be read."""
    text = await response.text(encoding="utf-8")
    return discord.utils._from_json(text) if response.content_type == _JSON else text


def read_json() -> None:
    """Make discord.py read answers in this way, in the whole process."""
    discord.http.json_or_text = json_or_text
    webhooks.json_or_text = json_or_text  # type: ignore[attr-defined]
