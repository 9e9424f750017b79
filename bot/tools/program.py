"""Runs a program in a process group of its own, of which nothing survives the call.

`bot/tools/command.py` calls `run` on the event loop. The program is started there, without an
await; a thread of its own, `signoff-program`, waits for its end.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import subprocess
import time
from asyncio import StreamReader
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any, Final, NamedTuple

from bot.tools.leftovers import Leftovers, Mark
from bot.tools.standard_input import standard_input
from lifecycle.ports import ToolDoubtful

#: How many bytes are kept of the end of what a program writes to standard error.
TAIL: Final = 4_096
_CHUNK: Final = 65_536
_GRACE_S: Final = 1.0
#: An exit code that means neither done nor failed.
_LOST: Final = 255
_UNHEARD: Final = "the program was started and could not be listened to"

log = logging.getLogger(__name__)


class Ended(NamedTuple):
    """How a program ended: exit code, the head of its output, the tail of its errors.

    `cut` is true if the output is still open: a process that was left behind may write more to it.
    """

    code: int
    output: bytes
    errors: bytes
    cut: bool


class _Kept:
    """Keeps the first `keep` bytes of a pipe or, if `keep` is negative, its last `-keep` bytes."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.data = b""

    def take(self, chunk: bytes) -> None:
        """Take the next bytes that were read."""
        if self._keep > 0:
            self.data += chunk[: self._keep - len(self.data)]
        else:
            self.data = (self.data + chunk)[self._keep :]


class Place(NamedTuple):
    """Where programs run: the folder, the environment, and the marks of those that run."""

    folder: Path
    environment: Mapping[str, str]
    leftovers: Leftovers


async def run(argv: Sequence[str], told: bytes, place: Place, keep: int) -> Ended:
    """Run a program, hand it `told` on standard input, and keep the first `keep` bytes it prints.

    When this has returned, or has ended as cancelled, every process of its group is dead. If the
    bot dies first, its next start ends them. Raises OSError or ValueError only if the program could
    not be started, and ToolDoubtful if it was and cannot be listened to. No shell is involved.
    """
    started = _Program(argv, told, place)
    try:
        return await started.listened_to(keep)
    except (OSError, ValueError) as error:
        raise ToolDoubtful(_UNHEARD) from error


class _Started(subprocess.Popen[bytes]):
    """A process that was started, and that inherits the lock on its mark.

    Popen waits until the program is in place. If it lacks memory for that, it raises and leaves the
    program, which nobody could end then; here `unheard` says so instead.
    """

    def __init__(
        self, argv: Sequence[str], told: IO[bytes], place: Place, mark: Mark | None
    ) -> None:
        """Start it; no shell is involved. Raises OSError or ValueError if there is no such program,
        or anything else if there is no process yet."""
        self.unheard: Exception | None = None
        try:
            super().__init__(
                list(argv),
                stdin=told,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=place.folder,
                env=dict(place.environment),
                start_new_session=True,
                pass_fds=() if mark is None else (mark.descriptor,),
            )
        except (OSError, ValueError):
            raise
        except Exception as error:
            if getattr(self, "pid", None) is None or self.returncode is not None:
                raise
            self.unheard = error


class _Program:
    """A started program. Starting does not await, so that no cancellation can slip in between.

    From `_watched` to `_end_group` all runs on the program's thread, everything else on the event
    loop; both may signal the group, under `_lock`.
    """

    def __init__(self, argv: Sequence[str], told: bytes, place: Place) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._lock = Lock()
        self._reaped = self._runs = False
        self._mark: Mark | None = None
        self._process: _Started
        begun = _watching(self._watched)
        try:
            with standard_input(told) as file:
                self._mark = place.leftovers.mark()
                self._process = _Started(argv, file, place, self._mark)
                self._runs = True
                if self._mark is not None:
                    self._mark.belongs_to(self._process.pid)
                if self._process.unheard is not None:
                    raise self._process.unheard
        except Exception as error:  # MemoryError, for example, may come at any moment
            if not self._runs:
                if self._mark is not None:
                    self._mark.not_started()
                raise
            self._kill(signal.SIGKILL)
            self._let_go()
            if self._mark is not None:
                self._mark.let_go()
            raise ToolDoubtful(_UNHEARD) from error
        finally:
            begun.release()

    async def listened_to(self, keep: int) -> Ended:
        """Wait for the end of the program and return how it ended.

        All that it prints is read, also beyond `keep`: writing into a closed pipe would kill it.
        """
        told, said = _Kept(keep), _Kept(-TAIL)
        output = asyncio.create_task(self._read(self._process.stdout, told))
        errors = asyncio.create_task(self._read(self._process.stderr, said))
        try:
            code = await asyncio.shield(self._ended)
            done, _ = await asyncio.wait((output, errors), timeout=_GRACE_S)
            for each in done:
                each.result()
            return Ended(code, told.data, said.data, cut=output not in done)
        finally:
            try:
                await self._end()
            finally:
                output.cancel()
                errors.cancel()
                await asyncio.gather(output, errors, return_exceptions=True)
                self._let_go()

    def _let_go(self) -> None:
        """Close both pipes; a reader that was cancelled before it began has not closed its own."""
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    async def _end(self) -> None:
        """End the whole group: by SIGTERM if the program still runs, and by SIGKILL in any case, at
        most `_GRACE_S` seconds later."""
        try:
            if not self._ended.done():
                self._kill(signal.SIGTERM)
                await asyncio.wait((self._ended,), timeout=_GRACE_S)
        finally:
            self._kill(signal.SIGKILL)
            while not self._ended.done():
                await asyncio.wait((self._ended,), timeout=_GRACE_S)
                if self._reaped:
                    break  # even if the loop could not be told of it

    def _watched(self) -> None:
        """Watch the program if one runs; try again if memory is short: nobody else sees its end."""
        while self._runs:
            try:
                self._watch()
                break
            except MemoryError:
                time.sleep(_GRACE_S)

    def _watch(self) -> None:
        """Wait for the end of the program, and hand its exit code to the loop.

        The code is lost, and `_LOST` stands for it, if SIGCHLD is ignored or if other code in this
        process waits for any child that ends.
        """
        try:
            code = self._reaped_code()
        except ChildProcessError:
            with self._lock:
                self._reaped = True
            log.warning("the exit code of a program is lost: another part of this process took it")
            code = self._process.returncode = _LOST
        else:
            if self._mark is not None:
                self._mark.remove()
        with suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._tell, code)

    def _reaped_code(self) -> int:
        """Wait for the end, kill what the program left behind, and only then free its process id;
        return the exit code.

        Raises ChildProcessError if the code is lost; Popen would say that the program ended with 0.
        """
        number = self._process.pid
        waitid = getattr(os, "waitid", None)
        if waitid is not None:
            waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
            self._end_group()
        _, status = os.waitpid(number, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if waitid is None:  # pragma: no cover - systems that cannot look without reaping
            self._end_group()
        return self._process.returncode

    def _end_group(self) -> None:
        with self._lock:
            self._signal(signal.SIGKILL)
            self._reaped = True

    def _tell(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    def _kill(self, number: signal.Signals) -> None:
        """Signal the group, unless its id was freed and may belong to another program by now."""
        with self._lock:
            if not self._reaped:
                self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self, pipe: IO[Any] | None, kept: _Kept) -> None:
        """Read a pipe to its end and hand each piece to `kept` as it comes."""
        reader = StreamReader()
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while chunk := await reader.read(_CHUNK):
                kept.take(chunk)
        finally:
            transport.close()


def _watching(watched: Callable[[], None]) -> Lock:
    """Start the thread that will watch a program; return the lock on which it waits.

    No program may begin if nobody could see its end: raises OSError if no thread can be started.
    """
    begun = Lock()
    begun.acquire()

    def waits() -> None:
        with begun:
            watched()

    try:
        Thread(target=waits, name="signoff-program", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "this machine starts no more threads") from error
    return begun
