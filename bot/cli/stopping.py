"""Lets Ctrl-C stop work on a reader's thread, such as the verification of a long trail."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stoppable() -> Iterator[Callable[[], None]]:
    """Yield a function that the work calls at every step; after Ctrl-C it raises KeyboardInterrupt.

    Only the work itself can end its thread early: asyncio would wait for that thread after Ctrl-C,
    until the end of the trail. An ignored SIGINT stays ignored.
    """
    asked = threading.Event()

    def step() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield step
        return
    signal.signal(signal.SIGINT, lambda _number, _frame: asked.set())
    try:
        yield step
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
