"""Ends the process, even if threads of tools do not end (design section 8: within 10 s)."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Final, NoReturn

from bot.process.cut_short import WRITTEN_S, cut_short, left_s

#: How many seconds the threads of others may take to end.
_GRACE_S: Final = 0.5
_TELL_TO_END: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger("signoff")


def leave(code: int) -> NoReturn:
    """End the process with `code`; all our own work is done and on disk.

    Python waits for every thread of a pool, also for one that hangs in an operator's tool, and then
    runs the atexit functions, also those of others. If it does not reach them in time, or they do
    not end, a thread of ours ends the process.
    """
    reached = threading.Event()
    atexit.register(reached.set)
    with suppress(RuntimeError):  # no thread can be started: then Python alone ends it
        threading.Thread(target=_end, args=(code, reached), daemon=True).start()
        # The process is ending anyway; a signal must not change its exit code or cut off output.
        for told in _TELL_TO_END:
            signal.signal(told, signal.SIG_IGN)
    sys.exit(code)


def _end(code: int, reached: threading.Event) -> None:
    if not reached.wait(left_s(_GRACE_S)):
        log.warning("Threads of tools that do not end are left where they are.")
        cut_short(code)
    # If Python ends the process meanwhile, this daemon thread ends with it.
    time.sleep(left_s(WRITTEN_S))
    os._exit(code)
