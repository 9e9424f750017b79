"""Tells from how a disk is mounted whether it takes no writes.

A bot on such a disk cannot leave a note that it cannot write, so `status` and other commands look
for themselves. Nothing is written or opened to find out: closing the database's file would release
the locks that SQLite has on it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

#: Linux lists its mounts here.
MOUNTS: Final = Path("/proc/self/mountinfo")
#: The field of a line that holds the device's numbers. The last field of a line holds the options
#: of the file system.
_DEVICE: Final = 2
#: From Linux 6.15 on, ext4 sets this option when it stops writing after an error; it keeps `rw`.
_AFTER_AN_ERROR: Final = b"emergency_ro"


def read_only(database: Path, mounts: Path = MOUNTS) -> bool:
    """Return True if the disk of the database is mounted read-only or has made itself so.

    False as well if that cannot be found out.
    """
    with suppress(OSError):
        if os.statvfs(database).f_flag & os.ST_RDONLY:
            return True
        return _made_itself_so(database, mounts)
    return False


def _made_itself_so(database: Path, mounts: Path) -> bool:
    device = database.stat().st_dev
    numbers = f"{os.major(device)}:{os.minor(device)}".encode("ascii")
    lines = (line.split() for line in mounts.read_bytes().splitlines())
    found = (each for each in lines if len(each) > _DEVICE and each[_DEVICE] == numbers)
    return any(_AFTER_AN_ERROR in each[-1].split(b",") for each in found)
