"""Files that came with a command: stored by their address, fetched when the command is worked."""

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
    """Return a file that was kept, to be fetched.

    Fetching raises Refused where Discord does not give it out any more, SurfaceFailed where it may
    later: the command waits then.
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
