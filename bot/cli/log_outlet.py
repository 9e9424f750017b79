"""Writes the log of a running bot to standard error, so that it never holds up the bot."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import Final, TextIO

from bot.process.outlet import Outlet

#: How many bytes of the log may wait for a reader; further lines are dropped and counted.
_MOST_BYTES: Final = 1024 * 1024
_AT_THE_END_S: Final = 0.5


class LogOutlet(Outlet):
    """An Outlet that drops lines if they cannot be written, and never raises or blocks.

    Else a reader that has stopped would stop the whole bot with the next line. A file on a full
    disk is written again once there is room. Dropped lines are counted, and the log tells how many.
    """

    most_bytes = _MOST_BYTES
    at_the_end_s = _AT_THE_END_S

    def __init__(self, stream: TextIO) -> None:
        """Replace `stream`, which must have a descriptor. Raises RuntimeError if no thread
        starts."""
        super().__init__(stream)
        self._lost = 0
        self._ending = False

    def write(self, text: str) -> int:
        """Take text, or drop and count it; raises nothing."""
        if self._ending:
            self._at_once(text)
            return len(text)
        try:
            if self._lost and self.waiting_bytes < self.most_bytes // 2:
                super().write(f"{self._lost} lines of this log are lost: nobody took them.\n")
                self._lost = 0
            if not self._lost:
                super().write(text)
                return len(text)
        except OSError:
            pass
        self._lost += text.count("\n")
        return len(text)

    def fileno(self) -> int:
        """Return the descriptor, to which faulthandler writes when the process dies."""
        return self.descriptor

    def _drained(self) -> None:
        super()._drained()
        # A terminal may say that it has room and block nevertheless, which would hold up the end.
        self._ending = not os.isatty(self.descriptor)

    def _at_once(self, text: str) -> None:
        """Write on the caller's thread, because at the end of the process our own one is stopped.

        The functions that end a process may log too. Only as much is written as is taken at once,
        and only if nothing waits before it.
        """
        data = text.encode(self._encoding, "backslashreplace")
        room = select.poll()
        room.register(self.descriptor, select.POLLOUT)
        with suppress(OSError):
            while data and not self.waiting_bytes and room.poll(0):
                data = data[os.write(self.descriptor, data[: select.PIPE_BUF]) :]

    def _tell_full(self, full: OSError) -> None:
        """Do nothing: the message would go to this very stream."""

    def _tell_lost(self, full: OSError) -> None:
        """Do nothing, as `_tell_full`."""
