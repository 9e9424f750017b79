"""Mail into a folder: without a mail server, what is sent lies in a Maildir for others to carry."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from bot.durable_files import move, write_whole
from bot.own_folder import own_folder
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
        loop, name = asyncio.get_running_loop(), draft.removesuffix(".eml")
        delivering = loop.run_in_executor(None, self._deliver, name, data)
        try:
            await asyncio.shield(delivering)
        except asyncio.CancelledError:  # what a thread does nobody can end
            await asyncio.wait({delivering})
            delivering.result()
        return self.describe()

    def _deliver(self, name: str, data: bytes) -> None:
        """Raises ToolFailed where nothing was delivered, ToolDoubtful where something may be."""
        waiting = self._outbox / "tmp" / f"{name}.signoff"
        written = False
        try:
            for folder in _FOLDERS:
                own_folder(self._outbox / folder)
            if not self._delivered(name):
                write_whole(waiting, data)
                written = True
                move(waiting, self._outbox / "new" / waiting.name)
        except OSError as error:
            why = error.strerror or type(error).__name__
            if self._perhaps_delivered(name, waiting if written else None):
                words = f"it may lie in {self._shown}, and may not stay there ({why})"
                raise ToolDoubtful(words) from error
            words = f"{self._shown} cannot be written ({why}): make room there, then retry"
            raise ToolFailed(words) from error

    def _perhaps_delivered(self, name: str, written: Path | None) -> bool:
        """Say yes as well where that cannot be seen, and where what was written has left.

        Whoever carries the mails on may have taken it already.
        """
        try:
            left = written is not None and not written.exists()
            return left or self._delivered(name, if_closed=True)
        except OSError:
            return True

    def _delivered(self, name: str, *, if_closed: bool = False) -> bool:
        """Say whether it lies here, read or unread: a reader moves it to cur and appends flags.

        `if_closed` is the answer of a folder that only its owner, the reader, may look into.
        """
        return any(
            _begins(self._outbox / folder, f"{name}.signoff", if_closed)
            for folder in ("new", "cur")
        )


def _begins(folder: Path, beginning: str, if_closed: bool) -> bool:
    """Say whether a name in the folder begins so. Raises OSError where that cannot be seen."""
    try:
        return any(each.name.startswith(beginning) for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        return if_closed
