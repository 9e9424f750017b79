"""The threads of the loop's own pool, all of them started before there is work for them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

#: As many as a pool has that nobody gave a number.
_MOST: Final = min(32, (os.cpu_count() or 1) + 4)


def started_pool() -> ThreadPoolExecutor:
    """Return a pool that never has to start a thread. Raises RuntimeError where that cannot be.

    One that has to and cannot says that the work was not taken, and does it later all the same: a
    mail could leave behind the back of whoever was told so.
    """
    pool = ThreadPoolExecutor(_MOST, "signoff-own")
    gate = threading.Event()
    try:
        for _ in range(_MOST):
            pool.submit(gate.wait)
    finally:
        gate.set()
    return pool
