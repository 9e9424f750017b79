"""Refuses a database that is mounted as a single file, as into a container.

The newest commits and the lock are in files beside the database. Those files would belong to the
container: the commits would be lost with it, and a second bot on the same file would see no lock.
`SqliteStore.open` calls this before it takes the lock.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen

#: Linux lists its mounts here; no other system that we run on mounts single files.
MOUNTS: Final = Path("/proc/self/mountinfo")
#: The fields of a line that hold the id of the parent mount, and the mount point.
_WITHIN: Final = 1
_PLACE: Final = 4
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def refuse_single_file(database: Path, mounts: Path = MOUNTS) -> None:
    """Raise CannotOpen if `database` itself, not a folder around it, is a mount point."""
    place, found = os.fsencode(os.path.realpath(database)), _found(mounts)
    # A mount of a folder around it, made later in the same parent mount, hides the single file.
    hidden = {within for within, folder in found if place.startswith(folder + b"/")}
    if any(at == place and within not in hidden for within, at in found):
        raise CannotOpen(
            f"The database {database} is mounted as a single file: the newest commits and the lock "
            "stand beside it and would be left behind, so that decisions are lost and two bots may "
            "run on it. Mount the folder that it stands in."
        )


def _found(mounts: Path) -> list[tuple[bytes, bytes]]:
    """Return the parent mount's id and the mount point of every mount; none if unreadable."""
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return []
    words = (line.split() for line in lines)
    return [
        (each[_WITHIN], _ESCAPED.sub(_unescaped, each[_PLACE]))
        for each in words
        if len(each) > _PLACE
    ]


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8) & 0xFF])
