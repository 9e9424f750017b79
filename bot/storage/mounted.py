"""A database that is mounted as a single file, as into a container, is refused.

The newest commits and the lock stand in files beside it. They would be the container's own: the
commits are gone with it, and a second bot on the same file would find no lock.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen

#: Where Linux tells what is mounted; no other system that we run on mounts single files.
MOUNTS: Final = Path("/proc/self/mountinfo")
#: Where on a line stand which mount it was mounted in, and at which path.
_WITHIN: Final = 1
_PLACE: Final = 4
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def refuse_single_file(database: Path, mounts: Path = MOUNTS) -> None:
    """Raise CannotOpen where `database` itself, not a folder around it, is a mount of `mounts`."""
    place, found = os.fsencode(os.path.realpath(database)), _found(mounts)
    # In the same mount, a folder that was mounted around it later hides it.
    hidden = {within for within, folder in found if place.startswith(folder + b"/")}
    if any(at == place and within not in hidden for within, at in found):
        raise CannotOpen(
            f"The database {database} is mounted as a single file: the newest commits and the lock "
            "stand beside it and would be left behind, so that decisions are lost and two bots may "
            "run on it. Mount the folder that it stands in."
        )


def _found(mounts: Path) -> list[tuple[bytes, bytes]]:
    """Return of every mount the one that it was mounted in, and its path."""
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
