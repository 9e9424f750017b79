"""When a process began: who has its number by now is somebody else where that differs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

#: Two readings of one process may differ by so much, in seconds.
STEP_S: Final = 1.0
#: Where the kernel tells it in /proc/<number>/stat, behind the program's name.
_BEGAN: Final = 19


def began_s(number: int) -> float:
    """Return when a process began, in seconds: since the machine did on Linux, else since 1970.

    On Linux the latter moves with each setting of the wall clock, so that a process would be taken
    for another one. Raises psutil.Error where there is none.
    """
    with suppress(OSError, ValueError, IndexError):
        told = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
        return int(told[_BEGAN]) / os.sysconf("SC_CLK_TCK")
    return float(psutil.Process(number).create_time())
