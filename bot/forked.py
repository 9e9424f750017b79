"""What a copy of this process does not have of it: a tool may fork one, and that may outlive us."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import cache
from typing import Final, Protocol
from weakref import WeakSet


class Ours(Protocol):
    """What is nobody's but this process's."""

    def let_go_in_copy(self) -> None:
        """Close what a copy has of it; the process itself keeps it."""


_ours: WeakSet[Ours] = WeakSet()
#: The number of this process, if it is such a copy.
_copies: Final = set[int]()


def keep_from_copies(ours: Ours) -> None:
    """Let no copy that is made from now on keep it: a lock that is held, or an address that is
    listened on, by what is left of a dead bot refuses the start of the next one."""
    _ours.add(ours)
    _hook_letting_go()


@cache
def _hook_letting_go() -> None:
    os.register_at_fork(after_in_child=_let_go)


def _let_go() -> None:
    _copies.add(os.getpid())
    for each in tuple(_ours):
        each.let_go_in_copy()


def end_copy(error: BaseException | None = None, status: int = 0) -> None:
    """End this process if it is a copy, and do nothing in the bot itself.

    To be called where what a tool does comes back to the bot, with what it raised. A copy that went
    on from there would be a second bot: it shares the files and pipes by which the first one hears,
    and would take from it what it read, and all of it as it ended. `status` is the exit code if
    nothing was raised.
    """
    if os.getpid() not in _copies:
        return
    if isinstance(error, SystemExit):
        given = error.code
        status = 0 if given is None else given & 0xFF if isinstance(given, int) else 1
    elif error is not None:
        from lifecycle.located import located  # most commands never need what that loads

        status = 1
        with suppress(OSError):  # the threads that write the log are none of the copy's
            os.write(2, f"A process that a tool forked failed: {located(error)}\n".encode())
    os._exit(status)


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
