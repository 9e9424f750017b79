"""Tells systemd that the bot has begun, is alive, or is ending; does nothing without systemd.

A process that hangs looks like one that waits. With `WatchdogSec` in its unit, systemd ends the bot
and starts it again if it gives no sign of life. What was under way is then taken up as after any
other death.
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

#: How many signs of life are given in the time that systemd waits for one.
_SIGNS: Final = 4
_US: Final = 1_000_000

log = logging.getLogger("signoff")


class Supervisor:
    """Sends messages to systemd, if it started this process. Used on the event loop.

    A message that cannot be sent is logged and nothing more.
    """

    def __init__(self, environment: Mapping[str, str], store: ProposalStore) -> None:
        """Read what systemd sets: NOTIFY_SOCKET, and WATCHDOG_USEC if it waits for signs."""
        self._store = store
        self._place = _place(environment.get("NOTIFY_SOCKET", ""))
        self._patience_s = _patience_s(environment) if self._place else 0.0

    def begun(self) -> None:
        """Say that the bot serves, and have Python print where every thread is if the watchdog
        kills it."""
        if self._place and not faulthandler.is_enabled():
            with contextlib.suppress(RuntimeError, ValueError, OSError):  # no standard error
                faulthandler.enable()  # prints files, lines and functions at the watchdog's SIGABRT
        self._tell("READY=1")

    def ending(self) -> None:
        """Say that the bot ends by itself."""
        self._tell("STOPPING=1")

    async def give_signs(self) -> None:
        """Give signs of life until cancelled, as long as the loop runs and the store answers."""
        while self._patience_s > 0:
            every_s = self._patience_s / _SIGNS
            if await self._answers(every_s):
                self._tell("WATCHDOG=1")
            else:
                log.error("no sign of life: the store has not answered for %.0f s", every_s)
            await asyncio.sleep(every_s)

    async def _answers(self, within_s: float) -> bool:
        """Return True if the store answers within `within_s` seconds.

        StoreUnavailable is an answer; other parts of the bot tell people of it.
        """
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
    """Do nothing: that the unit or view is run says enough."""


def _place(named: str) -> str:
    """Return the address of the socket; a name with `@` in front is an abstract one."""
    return f"\0{named[1:]}" if named.startswith("@") else named


def _patience_s(environment: Mapping[str, str]) -> float:
    """Return how many seconds systemd waits for a sign of this process, 0 if it does not wait."""
    named, waits = environment.get("WATCHDOG_PID", ""), environment.get("WATCHDOG_USEC", "")
    ours = named in ("", str(os.getpid()))
    return int(waits) / _US if ours and waits.isdecimal() else 0.0
