"""Which pages stand in the log of a database, as the frames there say (sqlite.org/walformat).

The file of the log alone may be opened beside SQLite: at the end of any other of its files the
system lets go of the locks that SQLite holds on it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

#: How many bytes stand before all pages of the log, and before each.
LOG_HEAD: Final = 32
FRAME_HEAD: Final = 24
_HEAD: Final = struct.Struct(">8xI4x8s8x")
_FRAME: Final = struct.Struct(">II8s8x")


class LogEnd(NamedTuple):
    """Where a commit ends, in bytes from the beginning, in the round of the log that bears `mark`:
    whenever it is begun anew, it bears another one."""

    mark: bytes = b""
    at: int = LOG_HEAD


def logged_pages(log: Path, behind: LogEnd) -> frozenset[int]:
    """Return the numbers of the pages of all commits in the log behind that one, counted from 1;
    of all of them where the log was begun anew since.

    What an earlier round of the log left behind them bears another mark and is none of them, and
    nor is what no commit ends. Raises OSError where the log cannot be read.
    """
    return frozenset().union(*(pages for _, pages in _commits(log, behind)))


def log_end(log: Path, behind: LogEnd) -> LogEnd:
    """Return where the newest commit ends, looking from an older one on. Raises OSError."""
    newest = behind
    for end, _ in _commits(log, behind):
        newest = end
    return newest


def _commits(log: Path, behind: LogEnd) -> Iterator[tuple[LogEnd, set[int]]]:
    """Yield where each commit ends, with its pages."""
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
                return  # another program emptied it meanwhile
            page, ends_commit, own = _FRAME.unpack(head)
            if own != mark:
                return
            at = end
            pages.add(page)
            if ends_commit:
                yield LogEnd(mark, at), pages
                pages = set[int]()
