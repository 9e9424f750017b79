"""Mail into a folder: without a mail server, what is sent lies in a Maildir for others to carry."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from bot.own_folder import own_folder
from bot.tools.durable import move, write_whole
from lifecycle.ports import ToolDoubtful, ToolFailed

_FOLDERS: Final = ("tmp", "new", "cur")


class MaildirCarrier:
    """Delivers into a Maildir, Bcc included, under a name that only this mail has."""

    repeatable = True

    def __init__(self, outbox: Path, shown: str) -> None:
        """Deliver into `outbox`; `shown` is how people are told of it."""
        self._outbox = outbox
        self._shown = shown

    def describe(self) -> str:
        """Return the folder."""
        return f"the Maildir {self._shown}"

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        """Deliver once, however often it is called with the same draft."""
        await asyncio.to_thread(self._deliver, draft.removesuffix(".eml"), data)
        return self.describe()

    def _deliver(self, name: str, data: bytes) -> None:
        """Raises ToolFailed where nothing was delivered, ToolDoubtful where that may not last."""
        try:
            self._put(name, data)
        except OSError as error:
            why = error.strerror or type(error).__name__
            if self._delivered(name):
                raise ToolDoubtful(f"it lies in {self._shown}, and may not stay ({why})") from error
            words = f"{self._shown} cannot be written ({why}): make room there, then retry"
            raise ToolFailed(words) from error

    def _put(self, name: str, data: bytes) -> None:
        for folder in _FOLDERS:
            own_folder(self._outbox / folder)
        if self._delivered(name):
            return
        waiting = self._outbox / "tmp" / f"{name}.signoff"
        write_whole(waiting, data)
        move(waiting, self._outbox / "new" / waiting.name)

    def _delivered(self, name: str) -> bool:
        """Say whether it lies here, read or unread: a reader moves it to cur and appends flags."""
        return any(
            next((self._outbox / folder).glob(f"{name}.signoff*"), None)
            for folder in ("new", "cur")
        )
