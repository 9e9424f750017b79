"""Copies of this process that a tool makes (os.fork): what they are told is not told to us."""

from __future__ import annotations

import os
import signal
from functools import cache


@cache
def keep_signals_from_copies() -> None:
    """Let no copy that is made from now on hand us the signals that it gets, as asyncio has it.

    multiprocessing tells the processes of a pool to end by SIGTERM: the bot ended with them. That
    signal ends a copy at once, as it ends every program; one that a terminal sends to all alike
    (SIGINT, SIGHUP) leaves it to end what it does, as it leaves us.
    """
    os.register_at_fork(after_in_child=_as_one_of_its_own)


def _as_one_of_its_own() -> None:
    signal.set_wakeup_fd(-1)
    if callable(signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
