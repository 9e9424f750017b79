"""Our own loop, and the threads of its pool: all started before there is work, or missed by no
answer.

What others wrote has none of them: what never returns would use them up, and hold up the end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple

from bot.forked import end_copy, keep_from_copies

log = logging.getLogger("signoff")

#: What Python says where no thread can be started.
NO_THREAD: Final = "can't start new thread"

#: As many as a pool has that nobody gave a number.
_MOST: Final = min(32, (os.cpu_count() or 1) + 4)

#: The signals that the bot hears.
_OURS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: So long may take, once all our work is done, what is told to end.
_GRACE_S: Final = 0.5

#: The threads of whoever wrote what runs here: what it hands to the loop's pool (asyncio.to_thread)
#: is done there. None: it is our own.
THREADS_OF: Final[ContextVar[Executor | None]] = ContextVar("THREADS_OF", default=None)

#: What was let go of; thrown away it would be closed, which it may not allow either.
_let_go: Final = set[asyncio.Task[Any]]()

_Answer = TypeVar("_Answer")
_Given = TypeVarTuple("_Given")


class _NoMore(deque[Any]):
    """The callbacks of a loop that are due, in a forked copy of its process: it runs none."""

    def popleft(self) -> NoReturn:
        """End the copy, whose own work has come back to the loop."""
        end_copy(status=1)
        raise IndexError


class _Loop(asyncio.SelectorEventLoop):
    """One that can be told to go on where what others began in it ends the program, or the loop."""

    #: That a signal is heard by it, so that nothing but their code asks for the end so.
    goes_on = False
    _told_to_stop = False
    #: That this process was forked while it ran.
    _copied = False

    def run_forever(self) -> None:
        """Run until it is told to stop; raises what ends the program, unless it `goes_on`.

        asyncio lets that through from every task and callback, also from one that a tool began and
        waits for (asyncio.wait_for): whoever waits hears of it all the same.
        """
        self._told_to_stop = False
        while not self._told_to_stop:
            try:
                super().run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                self._end_copy(error)
                if not self.goes_on:
                    raise
                from lifecycle.located import located  # most commands never need what that loads

                log.error("what would have ended the bot ends nothing else: %s", located(error))
            self._end_copy(status=1)

    def let_go_in_copy(self) -> None:
        """Run nothing more in a forked copy of the process; asyncio has no public way."""
        if self.is_running():
            self._copied, self._ready = True, _NoMore()
            super().stop()

    def _end_copy(self, error: BaseException | None = None, status: int = 0) -> None:
        if self._copied:
            end_copy(error, status)

    def run_until_complete(self, future: Any) -> Any:
        """Run it to its end, which is the end of the loop too."""
        self._main = asyncio.ensure_future(future, loop=self)
        return super().run_until_complete(self._main)

    def stop(self) -> None:
        """Stop, unless it is what others wrote that says so.

        Nobody else does before the end of what is run; a thread that they began has no mark of
        theirs.
        """
        if self.goes_on and not self._main.done():
            log.warning("a tool told the loop of the bot to stop, which goes on")
            return
        self._told_to_stop = True
        super().stop()

    def set_default_executor(self, executor: Any) -> None:
        """Take the threads of our own work; what others wrote has its own."""
        if not self._is_theirs("has threads of its own, and gives the bot none"):
            super().set_default_executor(executor)

    async def shutdown_default_executor(self) -> None:
        """End our own threads."""
        if not self._is_theirs("may not end the threads of the bot"):
            await super().shutdown_default_executor()

    def add_signal_handler(
        self, sig: int, callback: Callable[[*_Given], object], *args: *_Given
    ) -> None:
        """Hear a signal; what others wrote may not have those of the bot in its place."""
        if not (sig in _OURS and self._is_theirs("may not hear the signals of the bot")):
            super().add_signal_handler(sig, callback, *args)

    def remove_signal_handler(self, sig: int) -> bool:
        """Hear it no more; False where it was heard by nobody."""
        if sig in _OURS and self._is_theirs("may not keep the bot from hearing its signals"):
            return False
        return super().remove_signal_handler(sig)

    def _is_theirs(self, words: str) -> bool:
        """Say whether what others wrote asks for it, which is told then."""
        theirs = self.goes_on and THREADS_OF.get() is not None
        if theirs:
            log.warning("a tool %s", words)
        return theirs


@contextmanager
def going_on() -> Iterator[None]:
    """Let nothing that others wrote end the loop that runs, where it is our own, while entered.

    For whoever has it hear SIGINT: else Ctrl-C would end nothing.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, _Loop):
        yield
        return
    keep_from_copies(loop)
    loop.goes_on = True
    try:
        yield
    finally:
        loop.goes_on = False


class _Pool(ThreadPoolExecutor):
    """Does our own work."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it here, or where the work of others is done."""
        others = THREADS_OF.get()
        if others is not None:
            return others.submit(fn, *args, **kwargs)
        return super().submit(fn, *args, **kwargs)


def run(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run `work` in a loop of its own, as asyncio.run does; return its answer, raise its error.

    At its very end asyncio starts a thread that waits for the pool's. Where that one cannot be
    started all is done nevertheless, and must not be told as failed.
    """
    ended: Future[_Answer] = Future()
    pool = _Pool(_MOST, "signoff-own")

    async def kept() -> None:
        asyncio.get_running_loop().set_default_executor(pool)
        try:
            ended.set_result(await work)
        except BaseException as error:
            ended.set_exception(error)
            if isinstance(error, asyncio.CancelledError):  # by which asyncio tells Ctrl-C
                raise
        finally:
            await _end_others()

    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(kept())
    except RuntimeError as error:
        if str(error) != NO_THREAD or not ended.done():
            raise
        if isinstance(ended.exception(), asyncio.CancelledError):  # nothing but Ctrl-C cancels it
            raise KeyboardInterrupt from error
    finally:
        pool.shutdown(wait=False)
    return ended.result()


async def _end_others() -> None:
    """End what is still going on; what does not end is let go of, for asyncio would wait for it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, going_on = await asyncio.wait(others, timeout=_GRACE_S)
        for task in going_on:
            let_go(task)
            _let_go.add(task)


def let_go(task: asyncio.Task[Any]) -> None:
    """Keep asyncio.run from waiting for a task that does not end: at its end it would for ever.

    Asyncio has no public way. A Python without this one waits, and nothing else becomes wrong.
    """
    forget: Callable[[asyncio.Task[Any]], object] | None
    forget = getattr(asyncio.tasks, "_unregister_task", None)
    if forget is not None:
        forget(task)


def started_pool() -> ThreadPoolExecutor:
    """Return a pool that never has to start a thread. Raises RuntimeError where that cannot be.

    One that has to and cannot says that the work was not taken, and does it later all the same: a
    mail could leave behind the back of whoever was told so.
    """
    pool = _Pool(_MOST, "signoff-own")
    gate = threading.Event()
    try:
        for _ in range(_MOST):
            pool.submit(gate.wait)
    finally:
        gate.set()
    return pool
