"""Guards the standard streams of the process: a failing stream does not stop a command.

What was done stays done, and the exit code says so. A reader that closes the pipe is no failure; a
full disk under standard output is told on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, Final, NoReturn, TextIO, cast

#: The streams in the order of their descriptors, and the mode to open one if the caller closed it.
_MODES: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}


class Unprinted(OSError):
    """Standard output cannot be written; `reader_left` is True if the reader closed the pipe."""

    def __init__(self, why: OSError) -> None:
        """Take the system's words, but not its errno: typer would end with 1 for a closed pipe."""
        super().__init__(why.strerror or str(why))
        self.reader_left = isinstance(why, ConnectionError)


class Guarded:
    """Replaces a stream. If a write fails, `failed` is called with the error, and again for every
    later write."""

    def __init__(self, stream: TextIO, failed: Callable[[OSError], object]) -> None:
        self._stream = stream
        self._failed = failed
        self._failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write, or call `failed` with the error; return the length of the text."""
        try:
            if self._failure is not None:
                raise self._failure
            self._stream.write(text)
        except OSError as error:
            self._broken(error)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, or call `failed` with the error."""
        try:
            self._stream.flush()
        except OSError as error:
            self._broken(error)

    def __getattr__(self, name: str) -> Any:
        """Return every other attribute of the stream itself."""
        return getattr(self._stream, name)

    def _broken(self, error: OSError) -> None:
        if self._failure is None:
            self._failure = error
            # Python flushes the stream once more at the end of the process, and would fail.
            with suppress(OSError, ValueError):
                _to_nowhere(self._stream.fileno())
        self._failed(error)


def guard_streams() -> None:
    """Guard the streams: failing standard output raises Unprinted, failing standard error nothing.

    A stream that the caller has closed is opened on /dev/null, so that its descriptor number is not
    given to a file.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is None:
            _to_nowhere(number)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape characters that the encoding lacks
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", Guarded(sys.stdout, _unprinted))
    sys.stderr = cast("TextIO", Guarded(sys.stderr, lambda _error: None))


def unhindered_errors() -> None:
    """Have standard error written by a thread of its own, so that a stopped reader blocks nobody.

    If no thread can be started, it is written as before.
    """
    from bot.cli.log_outlet import LogOutlet

    if isinstance(sys.stderr, Guarded):  # our own process, not a program that imported us
        with suppress(OSError, RuntimeError, ValueError):
            sys.stderr = cast("TextIO", LogOutlet(cast("TextIO", sys.stderr)))


def _unprinted(error: OSError) -> NoReturn:
    raise Unprinted(error) from error


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
