"""Delivers mail into a folder: without a mail server, what is sent lies in a Maildir for others to
carry on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from bot.process.durable_files import move, write_whole
from bot.process.own_folder import own_folder
from lifecycle.ports import ToolDoubtful, ToolFailed

_FOLDERS: Final = ("tmp", "new", "cur")


class MaildirCarrier:
    """Delivers into a Maildir, Bcc included, under a name that only this mail has.

    `carry` runs on the event loop, and `_deliver` with what it calls in the pool.
    """

    repeatable = True

    def __init__(self, outbox: Path, shown: str) -> None:
        """Take the folder of the Maildir; `shown` is its name for people."""
        self._outbox = outbox
        self._shown = shown

    def describe(self) -> str:
        """Return the name of the folder, in words."""
        return f"the Maildir {self._shown}"

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        """Deliver once, however often this is called with the same draft.

        If it is cancelled, it waits for the thread, and ends as the delivery did.
        """
        loop, name = asyncio.get_running_loop(), draft.removesuffix(".eml")
        delivering = loop.run_in_executor(None, self._deliver, name, data)
        try:
            await asyncio.shield(delivering)
        except asyncio.CancelledError:  # nobody can end what a thread does
            await asyncio.wait({delivering})
            delivering.result()
        return self.describe()

    def _deliver(self, name: str, data: bytes) -> None:
        """Write the mail to `tmp` and move it to `new`, unless it was delivered before.

        Raises ToolFailed if nothing was delivered, ToolDoubtful if it may have been.
        """
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
        """Return True if the mail was delivered, or if that cannot be seen.

        `written` is the file in `tmp`, None if it was not written. If that file is gone, the mail
        counts as delivered: whoever carries mails on may have taken it already.
        """
        try:
            left = written is not None and not written.exists()
            return left or self._delivered(name, if_closed=True)
        except OSError:
            return True

    def _delivered(self, name: str, *, if_closed: bool = False) -> bool:
        """Return True if the mail lies here, read or unread: a reader moves it to `cur` and appends
        flags to its name.

        `if_closed` is the answer for a folder that only its owner, the reader, may look into.
        """
        return any(
            _begins(self._outbox / folder, f"{name}.signoff", if_closed)
            for folder in ("new", "cur")
        )


def _begins(folder: Path, beginning: str, if_closed: bool) -> bool:
    """Return True if a name in the folder begins so, and `if_closed` if we may not look into it.

    Raises OSError if it cannot be read for another reason.
    """
    try:
        return any(each.name.startswith(beginning) for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        return if_closed
