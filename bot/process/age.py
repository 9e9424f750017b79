"""Tells a process from a later one with the same number, by when it was born.

The lock of the database and the list of running tool programs keep births beside numbers.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from bot.clocks.boot_id import boot_id

#: Two readings of the birth of one process, in seconds since 1970, may differ by so much.
STEP_S: Final = 1.0
_PROC: Final = Path("/proc")
#: The field of the start time in /proc/<number>/stat, counted behind the program's name.
_BEGAN: Final = 19
#: How many characters of `boot_id` are kept.
_BOOT: Final = 8
_OF_THE_KERNEL: Final = ":"


def birth_of(number: int) -> str:
    """Return the birth of a process, a text that no other process with its number has.

    On Linux it is the run of the machine and the kernel's ticks since its start, elsewhere seconds
    since 1970. On Linux such seconds would change whenever the wall clock is set, and the ticks
    alone would repeat after the next start of the machine. Raises psutil.Error or OSError if there
    is no such process, or if its birth cannot be read.
    """
    with suppress(OSError, ValueError, IndexError):
        told = (_PROC / str(number) / "stat").read_bytes().rpartition(b")")[2].split()
        return f"{boot_id()[:_BOOT]}{_OF_THE_KERNEL}{int(told[_BEGAN])}"
    return f"{psutil.Process(number).create_time():.2f}"


def is_born(number: int, birth: str) -> bool:
    """Return True if the process that has this number now has this birth.

    Raises as `birth_of` does.
    """
    boot, kernel, ticks = birth.rpartition(_OF_THE_KERNEL)
    boot_now, kernel_now, ticks_now = birth_of(number).rpartition(_OF_THE_KERNEL)
    if kernel and kernel_now:
        return ticks == ticks_now and (boot == boot_now or "" in (boot, boot_now))
    try:  # seconds, as on other systems and from former versions
        return abs(psutil.Process(number).create_time() - float(birth)) <= STEP_S
    except ValueError:
        return False


def is_of_another_boot(birth: str) -> bool:
    """Return True if a birth is from another run of the machine; such a process has ended.

    Return False if that cannot be told.
    """
    boot, _, _ = birth.rpartition(_OF_THE_KERNEL)
    # Only a birth on Linux names its run, and only there `boot_id` costs nothing.
    return bool(boot) and boot_id()[:_BOOT] not in (boot, "")
