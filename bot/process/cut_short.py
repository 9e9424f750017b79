"""Ends a process that cannot end by itself: what waits to be written is written, and nothing else
is done.

`bot/running.py` uses it for the running bot, and `bot/cli/leaving.py` for any command whose process
does not end in time.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

#: How many seconds the functions registered with atexit may take.
WRITTEN_S: Final = 3.0
#: How many seconds after it was told to end a process ends, whatever still waits to be written
#: (design section 8).
_ENDS_S: Final = 9.7
#: How many seconds after it was told to end a process ends although its loop is held up, and how
#: many of these are then left to write the log entry about that.
_LAST_S: Final = 9.8
_TOLD_S: Final = 0.1
#: The length of the steps, in seconds, by which `over_within` notices that the process was stopped.
_STEP_S: Final = 0.5
_ENDING: Final = (signal.SIGTERM, signal.SIGINT)
_MOST_SIGNALS: Final = 64
#: No signal has this number; it marks the end of the numbers in the pipe.
_NO_MORE: Final = b"\0"

log = logging.getLogger("signoff")

#: When this process was told to end, in seconds of the monotonic clock; the first time counts.
_told: list[float] = []

#: The pipes into which Python is to write the numbers of signals while a thread of our own hears
#: them; the last one counts.
_pipes: list[int] = []


def told_to_end() -> None:
    """Note that this process was told to end just now."""
    _told.append(time.monotonic())


def left_s(most_s: float) -> float:
    """Return how many seconds this process may still take for something, `most_s` at most.

    These are fewer once it was told to end, and 0.0 once it should have ended.
    """
    if not _told:
        return most_s
    return max(0.0, min(most_s, _told[0] + _ENDS_S - time.monotonic()))


def cut_short(code: int, least_s: float = 0.0) -> NoReturn:
    """End the process with `code`, whatever its threads do.

    Before that, what waits is written: for WRITTEN_S seconds at most, or for what is left of the
    time to end, but for at least `least_s`.
    """
    # This runs the functions registered with atexit, by which our outlets write what waits. Python
    # has no public name for it.
    writing = getattr(atexit, "_run_exitfuncs", logging.shutdown)
    written = threading.Event()

    def write() -> None:
        try:
            writing()
        finally:
            written.set()

    try:  # if no thread can be started, the process ends at once
        # `Thread.start` waits for ever for a thread that has no memory to begin with.
        _thread.start_new_thread(write, ())
        written.wait(max(least_s, left_s(WRITTEN_S)))
    finally:
        os._exit(code)


@contextmanager
def ended_by_signals(end: Callable[[], object]) -> Iterator[None]:
    """Let SIGTERM and SIGINT call `end` on a thread of its own, and nothing else, while entered.

    Whatever holds up the main thread, such as a lookup in C, holds up Python's signal handlers too,
    but not the pipe into which Python writes the numbers of signals (`signal.set_wakeup_fd`). Enter
    this on the main thread, within a loop that handles both signals. Raises RuntimeError if no
    thread can be started.
    """

    def hear(numbers: bytes) -> None:
        if any(number in _ENDING for number in numbers):
            end()

    with _heard_apart(hear):
        yield


@contextmanager
def ended_in_time() -> Iterator[None]:
    """End the process in time after SIGTERM or SIGINT even if the loop is held up, while entered.

    A tool's coroutine that blocks without awaiting holds up the loop, and nothing else would end
    the process then: here it ends with code 1, on a thread of its own, `_LAST_S` seconds after the
    signal. The loop is handed all signals as before.

    Enter this as `ended_by_signals`. Raises RuntimeError if no thread can be started.
    """
    ready, ends, over = threading.Event(), threading.Event(), threading.Event()

    def hear(numbers: bytes) -> None:
        ready.wait()
        with suppress(OSError):  # the pipe of the loop is full: enough signals wait there
            os.write(loop_hears, numbers)
        if any(number in _ENDING for number in numbers):
            told_to_end()
            ends.set()

    def end_late() -> None:
        ends.wait()
        if not over_within(_LAST_S, over):
            log.error("The bot is held up, and ends in the middle of what was under way.")
            cut_short(1, _TOLD_S)

    threading.Thread(target=end_late, daemon=True).start()
    try:
        with _heard_apart(hear) as loop_hears:
            ready.set()
            yield
    finally:
        over.set()
        for each in (ready, ends):
            each.set()


def hear_anew() -> None:
    """Take the numbers of signals back from whoever took them; do nothing if none are heard apart.

    The loop takes them with each handler that is added to it, and a tool may. Call this on the main
    thread.
    """
    if _pipes:
        signal.set_wakeup_fd(_pipes[-1])


def over_within(most_s: float, over: threading.Event) -> bool:
    """Return True if `over` is set within `most_s` seconds, else False.

    Only time in which this process runs counts: a process that goes on after SIGSTOP has the rest
    of its time still. C code that lets no other thread run makes a step just as long; it is told
    from a stop because it uses the processor.
    """
    ran_s = 0.0
    while ran_s < most_s:
        step_s = min(_STEP_S, most_s - ran_s)
        begun_s, worked_s = time.monotonic(), time.process_time()
        if over.wait(step_s):
            return True
        worked_s = time.process_time() - worked_s
        ran_s += min(time.monotonic() - begun_s, max(2 * step_s, worked_s))
    return False


@contextmanager
def _heard_apart(hear: Callable[[bytes], object]) -> Iterator[int]:
    """Hand the numbers of all signals to `hear`, on a thread of its own, while entered.

    Yields the file descriptor that Python wrote the numbers to before (the loop's).
    """
    heard, told = os.pipe()
    listens = threading.Thread(target=_listen, args=(heard, hear), daemon=True)
    try:
        os.set_blocking(told, False)
        listens.start()
    except BaseException:
        os.close(heard)
        os.close(told)
        raise
    before = signal.set_wakeup_fd(told)
    _pipes.append(told)
    try:
        yield before
    finally:
        _pipes.remove(told)
        signal.set_wakeup_fd(before)
        os.set_blocking(told, True)
        # Closing the pipe would not end the thread if a forked process holds it open.
        os.write(told, _NO_MORE)
        listens.join()  # `hear` may end the process; nothing else begins before it has heard all
        os.close(told)


def _listen(heard: int, hear: Callable[[bytes], object]) -> None:
    numbers = b""
    while _NO_MORE not in numbers:
        numbers = os.read(heard, _MOST_SIGNALS)
        hear(numbers.rstrip(_NO_MORE))
    os.close(heard)
