"""Reads from the log of a database (`-wal`) which pages it holds (sqlite.org/walformat).

`bot/storage/place.py` calls it on the writer's thread. Only the log may be opened beside SQLite:
when a process closes any other file of the database, the system releases the POSIX locks that
SQLite holds on that file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

#: The sizes in bytes of the header of the log, and of the header before each page.
LOG_HEAD: Final = 32
FRAME_HEAD: Final = 24
_HEAD: Final = struct.Struct(">8xI4x8s8x")
_FRAME: Final = struct.Struct(">II8s8x")


class LogEnd(NamedTuple):
    """The offset `at`, in bytes, at which a commit ends in the log.

    `mark` is the salt of the log at that time: SQLite changes it whenever it starts the log again
    from the beginning.
    """

    mark: bytes = b""
    at: int = LOG_HEAD


def logged_pages(log: Path, behind: LogEnd) -> frozenset[int]:
    """Return the numbers, counted from 1, of the pages of all commits in the log after `behind`.

    If the log was started again since, all its commits count. Frames that an earlier round of the
    log left have another mark and do not count, nor do frames that no commit frame follows. Raises
    OSError if the log cannot be read.
    """
    return frozenset().union(*(pages for _, pages in _commits(log, behind)))


def log_end(log: Path, behind: LogEnd) -> LogEnd:
    """Return where the newest commit ends, reading on from `behind`. Raises OSError."""
    newest = behind
    for end, _ in _commits(log, behind):
        newest = end
    return newest


def _commits(log: Path, behind: LogEnd) -> Iterator[tuple[LogEnd, set[int]]]:
    """Yield the end of each commit after `behind`, with the numbers of its pages."""
    with log.open("rb", buffering=0) as file:
        number, size = file.fileno(), os.fstat(file.fileno()).st_size
        head = os.pread(number, LOG_HEAD, 0)
        if len(head) < LOG_HEAD:
            return
        page_bytes, mark = _HEAD.unpack(head)
        at, pages = behind.at if behind.mark == mark else LOG_HEAD, set[int]()
        while (end := at + FRAME_HEAD + page_bytes) <= size:
            head = os.pread(number, FRAME_HEAD, at)
            if len(head) < FRAME_HEAD:
                return  # another program emptied the log meanwhile
            page, ends_commit, own = _FRAME.unpack(head)
            if own != mark:
                return
            at = end
            pages.add(page)
            if ends_commit:
                yield LogEnd(mark, at), pages
                pages = set[int]()
