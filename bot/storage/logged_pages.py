"""Which pages stand in the log of a database, as the frames there say (sqlite.org/walformat).

The file of the log alone may be opened beside SQLite: at the end of any other of its files the
system lets go of the locks that SQLite holds on it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

#: How many bytes stand before all pages of the log, and before each.
LOG_HEAD: Final = 32
FRAME_HEAD: Final = 24
_HEAD: Final = struct.Struct(">8xI4x8s8x")
_FRAME: Final = struct.Struct(">II8s8x")


def logged_pages(log: Path) -> frozenset[int]:
    """Return the numbers of the pages of all commits in the log, counted from 1.

    What an earlier round of the log left behind them bears another mark and is none of them, and
    nor is what no commit ends. Raises OSError where the log cannot be read.
    """
    committed, since = set[int](), set[int]()
    with log.open("rb") as file:
        head = file.read(LOG_HEAD)
        if len(head) < LOG_HEAD:
            return frozenset()
        page_bytes, mark = _HEAD.unpack(head)
        while len(frame := file.read(FRAME_HEAD + page_bytes)) == FRAME_HEAD + page_bytes:
            number, ends_commit, own = _FRAME.unpack_from(frame)
            if own != mark:
                break
            since.add(number)
            if ends_commit:
                committed |= since
                since.clear()
    return frozenset(committed)
