"""Holds the event loop of the bot and the pool of threads for our own work, the loop's default
executor.

`run` runs a command in such a loop. The running bot then takes the pool of `started_pool`, whose
threads are all started before there is work. The code of tools never runs in the pool: if it did
not return, it would use up the threads and hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple

from bot.process.forked import HANDLED, end_copy, keep_from_copies

log = logging.getLogger("signoff")

#: The words of the RuntimeError that Python raises if no thread can be started.
NO_THREAD: Final = "can't start new thread"

#: The number of threads in a pool, the same as Python's default.
_MOST: Final = min(32, (os.cpu_count() or 1) + 4)

#: How many seconds cancelled tasks have to end once all our work is done.
_GRACE_S: Final = 0.5

#: In the code of a tool, the threads of that tool: what it hands to the loop's pool
#: (asyncio.to_thread) runs there. None in our own code.
THREADS_OF: Final[ContextVar[Executor | None]] = ContextVar("THREADS_OF", default=None)

#: The tasks that were let go of. They are kept here because the garbage collector would close their
#: coroutines, which these may refuse too.
_let_go: Final = set[asyncio.Task[Any]]()

_Answer = TypeVar("_Answer")
_Given = TypeVarTuple("_Given")


class _NoMore(deque[Any]):
    """The due callbacks of the loop in a forked copy of its process: the copy runs none of them."""

    def popleft(self) -> NoReturn:
        """End the copy, because what it was forked for has returned to the loop."""
        end_copy(status=1)
        raise IndexError


class _Loop(asyncio.SelectorEventLoop):
    """The loop of the bot. While `goes_on` is true, the code of tools can end neither the loop nor
    the program.

    Its methods run on its own thread, but the code of tools may call `stop` on any.
    """

    #: True while a handler in this loop hears SIGINT: then only the code of tools raises
    #: KeyboardInterrupt or SystemExit.
    goes_on = False
    _told_to_stop = False
    #: True in a copy of the process that was forked while the loop ran.
    _copied = False

    def run_forever(self) -> None:
        """Run until `stop`. SystemExit and KeyboardInterrupt are raised, or only logged while
        `goes_on` is true.

        asyncio lets them through from every task and callback, also from one that a tool began and
        waits for (asyncio.wait_for). The tool that waits gets the error all the same.
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
        """Run nothing more in a forked copy of the process, which calls this.

        asyncio has no public way to do that.
        """
        if self.is_running():
            self._copied, self._ready = True, _NoMore()
            super().stop()

    def _end_copy(self, error: BaseException | None = None, status: int = 0) -> None:
        if self._copied:
            end_copy(error, status)

    def run_until_complete(self, future: Any) -> Any:
        """Run `future` to its end, with which the loop stops.

        Raises RuntimeError if the loop runs already, as it does if a tool calls this; then nothing
        of `future` begins.
        """
        if self.is_running():
            return super().run_until_complete(future)
        self._main = asyncio.ensure_future(future, loop=self)
        return super().run_until_complete(self._main)

    def stop(self) -> None:
        """Stop, unless the code of a tool calls this while `goes_on` is true.

        Every call before the end of the main task is taken for theirs, because the bot itself never
        makes one. THREADS_OF cannot tell, because it is not set on threads that they began.
        """
        if self.goes_on and not self._main.done():
            log.warning("a tool told the loop of the bot to stop, which goes on")
            return
        self._told_to_stop = True
        super().stop()

    def set_default_executor(self, executor: Any) -> None:
        """Set the pool for our own work; a tool cannot, because it has threads of its own."""
        if not self._is_theirs("has threads of its own, and gives the bot none"):
            super().set_default_executor(executor)

    async def shutdown_default_executor(self, *args: Any, **named: Any) -> None:
        """End the threads of our pool; a tool cannot. Python 3.12 and newer give a timeout."""
        if not self._is_theirs("may not end the threads of the bot"):
            await super().shutdown_default_executor(*args, **named)

    def add_signal_handler(
        self, sig: int, callback: Callable[[*_Given], object], *args: *_Given
    ) -> None:
        """Set the handler of a signal; a tool cannot set one for the signals of the bot."""
        if not (sig in HANDLED and self._is_theirs("may not hear the signals of the bot")):
            super().add_signal_handler(sig, callback, *args)

    def remove_signal_handler(self, sig: int) -> bool:
        """Remove the handler of a signal; False if it had none, or if a tool may not remove it."""
        if sig in HANDLED and self._is_theirs("may not keep the bot from hearing its signals"):
            return False
        return super().remove_signal_handler(sig)

    def _is_theirs(self, words: str) -> bool:
        """Return True, and log `words`, if a tool's code is the caller while `goes_on` is true."""
        theirs = self.goes_on and THREADS_OF.get() is not None
        if theirs:
            log.warning("a tool %s", words)
        return theirs


@contextmanager
def going_on() -> Iterator[None]:
    """Keep the code of tools from ending the running loop, while entered; do nothing if it is not
    the loop of `run`.

    Only for callers whose loop handles SIGINT: else Ctrl-C would end nothing.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, _Loop):
        yield
        return
    loop.goes_on = True
    try:
        yield
    finally:
        loop.goes_on = False


class _Pool(ThreadPoolExecutor):
    """The threads for our own work."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` on a thread of this pool or, if a tool's code calls this, on one of the tool."""
        others = THREADS_OF.get()
        if others is not None:
            return others.submit(fn, *args, **kwargs)
        return super().submit(fn, *args, **kwargs)


def run(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run `work` in a loop of its own, as asyncio.run does; return its answer, raise its error.

    At its very end asyncio starts a thread that waits for the threads of the pool. If that thread
    cannot be started, the work is done nevertheless, and must not be reported as failed.
    """
    ended: Future[_Answer] = Future()
    pool = _Pool(_MOST, "signoff-own")

    def made() -> _Loop:
        keep_from_copies(loop := _Loop())
        return loop

    async def kept() -> None:
        asyncio.get_running_loop().set_default_executor(pool)
        try:
            ended.set_result(await work)
        except BaseException as error:
            ended.set_exception(error)
            if isinstance(error, asyncio.CancelledError):  # so asyncio reports Ctrl-C
                raise
        finally:
            await _end_others()

    try:
        with asyncio.Runner(loop_factory=made) as runner:
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
    """Cancel all other tasks, and let go of those that do not end in `_GRACE_S` seconds, because
    asyncio would wait for them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, going_on = await asyncio.wait(others, timeout=_GRACE_S)
        for task in going_on:
            let_go(task)
            _let_go.add(task)


def let_go(task: asyncio.Task[Any]) -> None:
    """Keep the end of the loop from waiting for a task that does not end: it would wait for ever.

    asyncio has no public way to do that. A Python without this private function waits, and nothing
    else goes wrong.
    """
    forget: Callable[[asyncio.Task[Any]], object] | None
    forget = getattr(asyncio.tasks, "_unregister_task", None)
    if forget is not None:
        forget(task)


def started_pool() -> ThreadPoolExecutor:
    """Return a pool whose threads are all started. Raises RuntimeError if one cannot be.

    A pool that must start a thread for some work and cannot raises as if it had refused the work,
    but does it later all the same: a mail could leave after people were told that it did not.
    """
    pool = _Pool(_MOST, "signoff-own")
    gate = threading.Event()
    try:
        for _ in range(_MOST):
            pool.submit(gate.wait)
    finally:
        gate.set()
    return pool
