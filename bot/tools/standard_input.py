"""Hands a program its call in a file: into a pipe nobody could write past what is read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Final

_NO_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE})


@contextmanager
def standard_input(told: bytes) -> Iterator[IO[bytes]]:
    """Yield a file without a name that holds `told`.

    Raises OSError, but not if closing the file fails, because the program runs by then.
    """
    file = _passing_file()
    try:
        file.write(told)
        file.seek(0)
        yield file
    finally:
        with suppress(OSError):  # a disk over the network may report an error only now
            file.close()


def _passing_file() -> IO[bytes]:
    """Return a file without a name: in memory if possible, because a disk may be full or its folder
    absent, else on disk."""
    if hasattr(os, "memfd_create"):
        try:
            return os.fdopen(os.memfd_create("signoff-call", os.MFD_CLOEXEC), "w+b")
        except OSError as error:  # refused to all by a hardened Linux (vm.memfd_noexec = 2)
            if error.errno in _NO_FILE:  # tempfile would say instead that no folder is usable
                raise
    return TemporaryFile()
