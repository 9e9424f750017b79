"""When a process was born: who has its number by now is somebody else where that differs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from bot.boot_id import boot_id

#: Two readings of one process may differ by so much, in seconds since 1970.
STEP_S: Final = 1.0
_PROC: Final = Path("/proc")
#: Where the kernel tells it in /proc/<number>/stat, behind the program's name.
_BEGAN: Final = 19
#: So much of the name of this run of the machine is enough.
_BOOT: Final = 8
_OF_THE_KERNEL: Final = ":"


def birth_of(number: int) -> str:
    """Return what this process shares with no other that has had its number, or will have it.

    On Linux that is which run of the machine it is and the kernel's ticks since then, elsewhere
    seconds since 1970: on Linux those move with each setting of the wall clock, and the ticks alone
    would be met again after the next start of the machine. Raises psutil.Error or OSError where
    there is none, or where that cannot be seen.
    """
    with suppress(OSError, ValueError, IndexError):
        told = (_PROC / str(number) / "stat").read_bytes().rpartition(b")")[2].split()
        return f"{boot_id()[:_BOOT]}{_OF_THE_KERNEL}{int(told[_BEGAN])}"
    return f"{psutil.Process(number).create_time():.2f}"


def is_born(number: int, birth: str) -> bool:
    """Say whether the process that has this number now is the one whose birth was noted.

    Raises as `birth_of` does.
    """
    boot, kernel, ticks = birth.rpartition(_OF_THE_KERNEL)
    boot_now, kernel_now, ticks_now = birth_of(number).rpartition(_OF_THE_KERNEL)
    if kernel and kernel_now:
        return ticks == ticks_now and (boot == boot_now or "" in (boot, boot_now))
    try:  # as other systems note it, and former versions did
        return abs(psutil.Process(number).create_time() - float(birth)) <= STEP_S
    except ValueError:
        return False


def is_of_another_boot(birth: str) -> bool:
    """Say whether it was noted in another run of the machine: what was born then has ended."""
    boot, _, _ = birth.rpartition(_OF_THE_KERNEL)
    # Only Linux notes it, and only there it costs nothing to ask.
    return bool(boot) and boot_id()[:_BOOT] not in (boot, "")
