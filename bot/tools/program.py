"""A program in a process group of its own, of which nothing survives the call."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import subprocess
from asyncio import StreamReader
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import IO, Any, Final, NamedTuple

from bot.tools.leftovers import Leftovers, Mark
from lifecycle.ports import ToolDoubtful

#: So much is kept of what it writes to standard error, the end of it.
TAIL: Final = 4_096
_CHUNK: Final = 65_536
_GRACE_S: Final = 1.0
_NO_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE})
#: An exit code that means neither done nor failed.
_LOST: Final = 255

log = logging.getLogger(__name__)


class Ended(NamedTuple):
    """How a program ended: exit code, the head of its output, the tail of its errors.

    `cut` says that somebody whom it left behind may write more to its output.
    """

    code: int
    output: bytes
    errors: bytes
    cut: bool = False


class _Kept:
    """What is kept of a pipe: so many bytes of its beginning, or, below zero, of its end."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.data = b""

    def take(self, chunk: bytes) -> None:
        """Take what was read next."""
        if self._keep > 0:
            self.data += chunk[: self._keep - len(self.data)]
        else:
            self.data = (self.data + chunk)[self._keep :]


class Place(NamedTuple):
    """Where programs run: folder, environment, and the marks by which what is left is found."""

    folder: Path
    environment: Mapping[str, str]
    leftovers: Leftovers


async def run(argv: Sequence[str], told: bytes, place: Place, keep: int) -> Ended:
    """Run a program, hand it `told` on standard input, keep the first `keep` bytes it prints.

    When this returns, or is cancelled, every process of its group is dead; where this process dies
    first, the next one ends them. Raises OSError or ValueError where the program could not be
    started, and for nothing else: what started may have acted. No shell is involved.
    """
    started = _Program(argv, told, place)
    try:
        return await started.listened_to(keep)
    except (OSError, ValueError) as error:
        raise ToolDoubtful("the program was started and could not be listened to") from error


class _Program:
    """A started program. Starting does not await, so that no cancellation can slip in between."""

    def __init__(self, argv: Sequence[str], told: bytes, place: Place) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._lock = Lock()
        self._reaped = False
        watched = _watching(self._watch)
        try:
            with _standard_input(told) as standard_input:
                self._mark = place.leftovers.mark()
                self._process = _started(argv, standard_input, place, self._mark)
        except BaseException:
            watched.put(False)
            raise
        watched.put(True)

    async def listened_to(self, keep: int) -> Ended:
        """Read what it prints to its end: nobody ends in peace who writes into a closed pipe."""
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
        """Close both pipes: a reader that was cancelled before it began has not."""
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    async def _end(self) -> None:
        """End the whole group: politely while the program runs, for good in any case."""
        try:
            if not self._ended.done():
                self._kill(signal.SIGTERM)
                await asyncio.wait((self._ended,), timeout=_GRACE_S)
        finally:
            self._kill(signal.SIGKILL)
            await asyncio.shield(self._ended)

    def _watch(self) -> None:
        """Wait for the end and tell the exit code, which nobody knows where the system or somebody
        else took it: SIGCHLD is ignored, or other code here waits for whatever ends."""
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
        """Wait for the end, kill what the program left behind, and only then let go of its id.

        Raises ChildProcessError, where Popen would say that the program ended with 0.
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
        """Signal the group while its id cannot belong to anybody else."""
        with self._lock:
            if not self._reaped:
                self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self, pipe: IO[Any] | None, kept: _Kept) -> None:
        """Read to the end; what was written is kept as it comes."""
        reader = StreamReader()
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while chunk := await reader.read(_CHUNK):
                kept.take(chunk)
        finally:
            transport.close()


def _watching(watch: Callable[[], None]) -> SimpleQueue[bool]:
    """Start the thread that watches a program, which begins with the True put into the queue.

    It comes before the program: one that nobody can end or see the end of must not begin. Raises
    OSError where no thread can be started.
    """
    begun: SimpleQueue[bool] = SimpleQueue()

    def watched() -> None:
        if begun.get():
            watch()

    try:
        Thread(target=watched, name="signoff-program", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "this machine starts no more threads") from error
    return begun


@contextmanager
def _standard_input(told: bytes) -> Iterator[IO[bytes]]:
    """Yield a file that holds `told` and has no name. Raises OSError, though not for letting go of
    it: then the program runs, and nobody may believe that it does not."""
    file = _passing_file()
    try:
        file.write(told)
        file.seek(0)
        yield file
    finally:
        with suppress(OSError):  # as a disk over the network may say so late
            file.close()


def _passing_file() -> IO[bytes]:
    """Return one in memory, where no disk may be full and no folder absent, else one on disk."""
    if hasattr(os, "memfd_create"):
        try:
            return os.fdopen(os.memfd_create("signoff-call", os.MFD_CLOEXEC), "w+b")
        except OSError as error:  # refused to all by a hardened Linux (vm.memfd_noexec = 2)
            if error.errno in _NO_FILE:  # of which the disk would say that no folder is usable
                raise
    return TemporaryFile()


def _started(
    argv: Sequence[str], standard_input: IO[bytes], place: Place, mark: Mark | None
) -> subprocess.Popen[bytes]:
    """Start the program and write down that it runs."""
    try:
        process = subprocess.Popen(  # noqa: S603 - argv of the operator, no shell
            list(argv),
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=place.folder,
            env=dict(place.environment),
            start_new_session=True,
            pass_fds=() if mark is None else (mark.descriptor,),
        )
    except BaseException:
        if mark is not None:
            mark.not_started()
        raise
    if mark is not None:
        mark.belongs_to(process.pid)
    return process
