"""Keeps a copy of this process from acting as a second bot: a tool may fork one, and that copy may
outlive the bot.

Locks, listening sockets and the loop register here what a copy must let go of. The code that runs
tools calls `end_copy` when a tool has returned. `bot/running.py` keeps the signals of copies from
the bot.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from functools import cache
from typing import Final, Protocol
from weakref import WeakSet


class Ours(Protocol):
    """Something that belongs to this process alone, such as a lock or a socket."""

    def let_go_in_copy(self) -> None:
        """Let go of it in a forked copy, which runs this; the process itself keeps it."""


_ours: WeakSet[Ours] = WeakSet()
#: The signals that the bot handles.
HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Per thread that forks, the signals that it blocked before.
_forking: Final = threading.local()
#: In a copy, its own process id and those of the copies it was forked from; empty in the bot.
_copies: Final = set[int]()


def keep_from_copies(ours: Ours) -> None:
    """Have every copy that is forked from now on let go of `ours`.

    A copy that outlives the bot would else hold its lock, or listen on its address, and keep the
    next bot from starting.
    """
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
    """End this process if it is a copy; do nothing in the bot itself.

    Call this where a tool's code has returned to the bot, with what it raised. A copy that went on
    from there would be a second bot: it shares the files and pipes of the first one, would take
    away what that should read, and would clean up what that still uses as it ended.

    The exit code is `status` if nothing was raised, that of a SystemExit, and else 1.
    """
    if os.getpid() not in _copies:
        return
    if isinstance(error, SystemExit):
        given = error.code
        status = 0 if given is None else given & 0xFF if isinstance(given, int) else 1
    elif error is not None:
        from lifecycle.located import located  # most commands never need what that loads

        status = 1
        with suppress(OSError):  # a copy has no threads that write the log, so this writes itself
            os.write(2, f"A process that a tool forked failed: {located(error)}\n".encode())
    os._exit(status)


@cache
def keep_signals_from_copies() -> None:
    """Keep copies that are forked from now on from handing the bot the signals that they get.

    A copy shares the pipe by which asyncio hears of signals. multiprocessing ends the processes of
    a pool by SIGTERM, and the bot ended with them. Now SIGTERM ends a copy at once, as it ends any
    program. SIGINT and SIGHUP, which a terminal sends to all its processes, leave a copy to finish
    what it does, as they leave the bot.

    The signals wait until the copy is set up: a pool that has little to do ends its processes
    before they have run at all. Python would hand the bot such a SIGTERM, and drop it in the copy.
    """
    os.register_at_fork(
        before=_block_signals,
        after_in_parent=_unblock_signals,
        after_in_child=_as_one_of_its_own,
    )


def _block_signals() -> None:
    # Two steps: the second may raise what a tool's handler raises, and still has to be undone.
    _forking.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.blocked)


def _as_one_of_its_own() -> None:
    signal.set_wakeup_fd(-1)
    if callable(signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _unblock_signals()
