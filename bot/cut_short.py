"""The end of a process that cannot come to it by itself: what waits is written, and that is all."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, NoReturn

#: So long may take what is registered for the end, in seconds.
WRITTEN_S: Final = 3.0
#: So long after it was told to a process ends, whatever waits to be written (design section 8).
_ENDS_S: Final = 9.7
#: So long after that it ends although all of it is held up, which it may be for no longer; what
#: then tells so has a moment to be written.
_LAST_S: Final = 9.8
_TOLD_S: Final = 0.1
#: In steps of so many seconds it is looked whether this process runs at all.
_STEP_S: Final = 0.5
_ENDING: Final = (signal.SIGTERM, signal.SIGINT)
_MOST_SIGNALS: Final = 64
#: The number of no signal, behind which there is none to hear.
_NO_MORE: Final = b"\0"

log = logging.getLogger("signoff")

#: When this process was first told to end, by the monotonic clock.
_told: list[float] = []


def told_to_end() -> None:
    """Note that this process was told to end just now."""
    _told.append(time.monotonic())


def left_s(most_s: float) -> float:
    """Return how many of these seconds a process still has that may have been told to end."""
    if not _told:
        return most_s
    return max(0.0, min(most_s, _told[0] + _ENDS_S - time.monotonic()))


def cut_short(code: int, least_s: float = 0.0) -> NoReturn:
    """End the process with `code`, whatever its threads do; what waits has `least_s` at least."""
    # Python's own list, of which there is no public name: our outlets write what waits.
    writing = getattr(atexit, "_run_exitfuncs", logging.shutdown)
    with suppress(RuntimeError):  # no thread can be started: nobody waits for what would be written
        thread = threading.Thread(target=writing, daemon=True)
        thread.start()
        thread.join(max(least_s, left_s(WRITTEN_S)))
    os._exit(code)


@contextmanager
def ended_by_signals(end: Callable[[], object]) -> Iterator[None]:
    """Let SIGTERM and SIGINT call `end` in a thread of its own, and nobody else, while entered.

    What holds up the main thread, as a lookup in C does, holds up the handlers of Python too, but
    not the numbers that they are told by. To be entered in the main thread of a loop that hears
    both signals. Raises RuntimeError where no thread starts.
    """

    def hear(numbers: bytes) -> None:
        if any(number in _ENDING for number in numbers):
            end()

    with _heard_apart(hear):
        yield


@contextmanager
def ended_in_time() -> Iterator[Callable[[], object]]:
    """End the process in time also where the loop that hears its signals does not, while entered: a
    tool's coroutine that waits without awaiting holds it up, and nothing else would end it.

    To be entered as `ended_by_signals`. Yields what is to be called once others may have put
    something in its place, and the loop hears the signals again. Raises RuntimeError where no
    thread starts.
    """
    ready, ends, over = threading.Event(), threading.Event(), threading.Event()

    def hear(numbers: bytes) -> None:
        ready.wait()
        with suppress(OSError):  # full: the loop hears of more than enough
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
        with _heard_apart(hear) as (told, loop_hears):
            ready.set()
            yield partial(signal.set_wakeup_fd, told)
    finally:
        over.set()
        for each in (ready, ends):
            each.set()


def over_within(most_s: float, over: threading.Event) -> bool:
    """Return True if it is over within so many seconds in which this process runs.

    While it is stopped, as by SIGSTOP, nothing of it is held up; going on it has its time still.
    """
    ran_s = 0.0
    while ran_s < most_s:
        begun_s, step_s = time.monotonic(), min(_STEP_S, most_s - ran_s)
        if over.wait(step_s):
            return True
        ran_s += min(time.monotonic() - begun_s, 2 * step_s)
    return False


@contextmanager
def _heard_apart(hear: Callable[[bytes], object]) -> Iterator[tuple[int, int]]:
    """Let `hear` have the numbers of signals in a thread of its own; yields where they are told,
    and where they were before."""
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
    try:
        yield told, before
    finally:
        signal.set_wakeup_fd(before)
        os.set_blocking(told, True)
        os.write(told, _NO_MORE)  # a process that was forked meanwhile keeps it from its end
        listens.join()  # nothing that `hear` could cut off begins before the last signal is heard
        os.close(told)


def _listen(heard: int, hear: Callable[[bytes], object]) -> None:
    numbers = b""
    while _NO_MORE not in numbers:
        numbers = os.read(heard, _MOST_SIGNALS)
        hear(numbers.rstrip(_NO_MORE))
    os.close(heard)
