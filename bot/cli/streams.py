"""The standard streams of the process: what they do not take undoes no command.

What was done stays done, and the exit code says what was done. A reader that has read enough is
no failure; a full disk under standard output is told on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, Final, NoReturn, TextIO, cast

#: By their descriptors: how each is opened where whoever called has closed it.
_MODES: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}


class Unprinted(OSError):
    """Standard output takes no more; `reader_left` where that is because nobody reads it."""

    def __init__(self, why: OSError) -> None:
        """Take what the system said, but not its number: over a closed pipe typer ends with 1."""
        super().__init__(why.strerror or str(why))
        self.reader_left = isinstance(why, ConnectionError)


class Guarded:
    """Stands for a stream; what that does not take goes to `failed`, and so does all behind it."""

    def __init__(self, stream: TextIO, failed: Callable[[OSError], object]) -> None:
        self._stream = stream
        self._failed = failed
        self._failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write, or let `failed` know why not."""
        try:
            if self._failure is not None:
                raise self._failure
            self._stream.write(text)
        except OSError as error:
            self._broken(error)
        return len(text)

    def flush(self) -> None:
        """Send off what was written; what was lost before that, `failed` knows."""
        try:
            self._stream.flush()
        except OSError as error:
            self._broken(error)

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has besides."""
        return getattr(self._stream, name)

    def _broken(self, error: OSError) -> None:
        if self._failure is None:
            self._failure = error
            # The end of the process tries once more to send what waits, and would fail over it.
            with suppress(OSError, ValueError):
                _to_nowhere(self._stream.fileno())
        self._failed(error)


def guard_streams() -> None:
    """Put the guards up: a failing standard output raises Unprinted, the other stays silent.

    A stream that the caller has closed is one to which nobody listens; its number must not become
    that of a file.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is None:
            _to_nowhere(number)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", Guarded(sys.stdout, _unprinted))
    sys.stderr = cast("TextIO", Guarded(sys.stderr, lambda _error: None))


def unhindered_errors() -> None:
    """Let a thread of its own write standard error: a reader that stopped holds up nobody.

    Without one, where no thread can be started, it is written as it was.
    """
    from bot.cli.log_outlet import LogOutlet

    if isinstance(sys.stderr, Guarded):  # a process of our own, not one that called us
        with suppress(OSError, RuntimeError, ValueError):
            sys.stderr = cast("TextIO", LogOutlet(cast("TextIO", sys.stderr)))


def _unprinted(error: OSError) -> NoReturn:
    raise Unprinted(error) from error


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
