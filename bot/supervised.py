"""Telling systemd how it stands: begun, alive, ending; without one over us, nothing.

A process that hangs looks like one that waits. With `WatchdogSec` in its unit it is ended and begun
anew where it gives no sign of life: what was under way is taken up as after any other death.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import socket
from collections.abc import Mapping
from typing import Final

from lifecycle.located import located
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction

#: So many signs of life fit into the time that systemd waits for one.
_SIGNS: Final = 4
_US: Final = 1_000_000

log = logging.getLogger("signoff")


class Supervisor:
    """What is over us, if anything is. It is told what it asked for and stops us in nothing."""

    def __init__(self, environment: Mapping[str, str], store: ProposalStore) -> None:
        """Read what systemd sets: NOTIFY_SOCKET, and WATCHDOG_USEC where it waits for signs."""
        self._store = store
        self._place = _place(environment.get("NOTIFY_SOCKET", ""))
        self._patience_s = _patience_s(environment) if self._place else 0.0

    def begun(self) -> None:
        """Say that the bot serves, and let a death by hanging tell where every thread stood."""
        if self._place and not faulthandler.is_enabled():
            with contextlib.suppress(RuntimeError, ValueError, OSError):  # no standard error
                faulthandler.enable()  # files, lines and functions, at the SIGABRT of a watchdog
        self._tell("READY=1")

    def ending(self) -> None:
        """Say that the bot ends by itself."""
        self._tell("STOPPING=1")

    async def give_signs(self) -> None:
        """Give signs of life until cancelled, as long as the loop turns and the store answers."""
        while self._patience_s > 0:
            every_s = self._patience_s / _SIGNS
            if await self._answers(every_s):
                self._tell("WATCHDOG=1")
            else:
                log.error("no sign of life: the store has not answered for %.0f s", every_s)
            await asyncio.sleep(every_s)

    async def _answers(self, within_s: float) -> bool:
        """Say whether the store answers; that it cannot be written is an answer, and told."""
        try:
            async with asyncio.timeout(within_s):
                with contextlib.suppress(StoreUnavailable):
                    await self._store.write(_nothing)
                with contextlib.suppress(StoreUnavailable):
                    await self._store.read(_nothing)
        except TimeoutError:
            return False
        except Exception as error:
            log.error("the store could not be asked: %s", located(error))
        return True

    def _tell(self, words: str) -> None:
        if not self._place:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.setblocking(False)
                line.sendto(words.encode(), self._place)
        except OSError as error:
            log.warning("systemd could not be told %s: %s", words, error.strerror)


def _nothing(_tx: Transaction) -> None:
    """Ask for nothing: that it is answered says enough."""


def _place(named: str) -> str:
    """Return the address of the socket; `@` stands for the abstract ones."""
    return f"\0{named[1:]}" if named.startswith("@") else named


def _patience_s(environment: Mapping[str, str]) -> float:
    """Return how long systemd waits for a sign of this process, in seconds; 0 for not at all."""
    named, waits = environment.get("WATCHDOG_PID", ""), environment.get("WATCHDOG_USEC", "")
    ours = named in ("", str(os.getpid()))
    return int(waits) / _US if ours and waits.isdecimal() else 0.0
