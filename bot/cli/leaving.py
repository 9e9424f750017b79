"""The end of the process, which no thread of others holds up (design section 8: within 10 s)."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

#: So long others may take to end their threads, and, after that, what waits to be written.
_GRACE_S: Final = 0.5
_WRITTEN_S: Final = 3.0

log = logging.getLogger("signoff")


def leave(code: int) -> NoReturn:
    """End the process with `code`; all our own work is done, and on disk.

    Python waits for every thread of a pool, also for one that hangs in an operator's tool, and only
    then does what is registered for the end. Where it does not come to that, the process ends.
    """
    reached = threading.Event()
    atexit.register(reached.set)
    with suppress(RuntimeError):  # no thread can be started: then Python alone ends it
        threading.Thread(target=_end, args=(code, reached), daemon=True).start()
    sys.exit(code)


def _end(code: int, reached: threading.Event) -> None:
    if reached.wait(_GRACE_S):
        return
    log.warning("Threads of tools that do not end are left where they are.")
    # Python's own list, of which there is no public name: our outlets write what waits.
    writing = getattr(atexit, "_run_exitfuncs", logging.shutdown)
    with suppress(RuntimeError):
        thread = threading.Thread(target=writing, daemon=True)
        thread.start()
        thread.join(_WRITTEN_S)
    os._exit(code)
