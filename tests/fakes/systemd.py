"""systemd, as far as a service tells it how it stands."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

ALIVE: Final = b"WATCHDOG=1"
SOON_S: Final = 10


class Systemd:
    """The socket on which systemd listens."""

    def __init__(self, name: str) -> None:
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.bind(name.replace("@", "\0", 1))
        self.line.settimeout(SOON_S)

    def told(self) -> bytes:
        """Return what is said next."""
        return self.line.recv(1_000)

    async def hears(self) -> bytes:
        return await asyncio.to_thread(self.told)

    def nothing(self) -> bool:
        """Say whether nothing was said that nobody has read."""
        self.line.setblocking(False)
        try:
            return not self.line.recv(1_000)
        except BlockingIOError:
            return True
        finally:
            self.line.settimeout(SOON_S)
