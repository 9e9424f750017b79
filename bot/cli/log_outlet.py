"""Standard error of a running bot: the log never holds up what it tells of."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import Final, TextIO

from bot.outlet import Outlet

#: So much of the log may wait for a reader; what comes then is let go of.
_MOST_BYTES: Final = 1024 * 1024
_AT_THE_END_S: Final = 0.5


class LogOutlet(Outlet):
    """Takes what is logged, at once and whatever becomes of it.

    A reader that has stopped would stop the whole bot with its next line, and a file on a full disk
    is written again once there is room. What was let go of meanwhile is counted, and told.
    """

    most_bytes = _MOST_BYTES
    at_the_end_s = _AT_THE_END_S

    def __init__(self, stream: TextIO) -> None:
        """Stand for `stream`, which must have a descriptor. Raises RuntimeError for no thread."""
        super().__init__(stream)
        self._lost = 0
        self._ending = False

    def write(self, text: str) -> int:
        """Take text, or let go of it; raises nothing."""
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
        """Return the descriptor, for what is written by a dying process."""
        return self.descriptor

    def _drained(self) -> None:
        super()._drained()
        # A terminal may say that it has room, and hold up the end all the same.
        self._ending = not os.isatty(self.descriptor)

    def _at_once(self, text: str) -> None:
        """Write without the thread, which stops where it stands: what ends a process may log too.

        Only as much as is taken at once, and behind all that came before.
        """
        data = text.encode(self._encoding, "backslashreplace")
        room = select.poll()
        room.register(self.descriptor, select.POLLOUT)
        with suppress(OSError):
            while data and not self.waiting_bytes and room.poll(0):
                data = data[os.write(self.descriptor, data[: select.PIPE_BUF]) :]

    def _tell_full(self, full: OSError) -> None:
        """Tell nobody: this is where it would be told."""

    def _tell_lost(self, full: OSError) -> None:
        """Tell nobody."""
