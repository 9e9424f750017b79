"""Keeps files that came with a command by their address; they are fetched when it is processed.

The twin is in `slack/commands.py` and `slack/fetching.py`; `slack/files.py` is about files that the
bot posts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord

from bot.chat.commands.replies import Attached
from bot.chat.discord.rest import Rest
from bot.chat.surface import SurfaceFailed
from lifecycle.errors import Fault, Refused


def file_payload(file: discord.Attachment) -> dict[str, Any]:
    """Return what to keep of an attached file."""
    return {"name": file.filename, "size": file.size, "url": file.url}


def attached(file: Mapping[str, Any], rest: Rest) -> Attached:
    """Return a kept file, ready to be fetched.

    Fetching raises Refused if Discord does not give the file out any more, and SurfaceFailed if it
    may later: the command waits then.
    """

    async def fetch() -> bytes:
        try:
            return await rest.download(str(file["url"]))
        except SurfaceFailed as failure:
            if not failure.lasting:
                raise
            raise Refused([_not_fetched(failure)]) from None

    return Attached(str(file["name"]), int(file["size"]), fetch)


def _not_fetched(failure: SurfaceFailed) -> Fault:
    return Fault(
        "malformed_json",
        required="one .json file",
        actual="a file that cannot be fetched",
        suggestion=f"The file was not read: {failure}. Attach it again, or write the JSON behind "
        "the command.",
    )
