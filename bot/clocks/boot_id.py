"""Names the present run of the machine, because its boot clock begins anew with each run.

The bot compares it at a start with that of the former process (`bot.clocks.resumed`); births of
processes contain it (`bot.process.age`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

_LINUX: Final = Path("/proc/sys/kernel/random/boot_id")
#: A container may have a boot clock of its own.
_NAMESPACE: Final = Path("/proc/self/ns/time")
_MACOS: Final = ("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")
_PATIENCE_S: Final = 5


def boot_id() -> str:
    """Return a text that is equal in two processes if they have the same boot clock.

    It is empty if that cannot be told. On macOS this starts a program, so the bot calls it on a
    thread.
    """
    return _asked() if sys.platform == "darwin" else _read()


def _read() -> str:
    try:
        boot = _LINUX.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    try:
        return f"{boot} {_NAMESPACE.readlink()}" if boot else ""
    except OSError:  # a kernel that has none of these
        return boot


def _asked() -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the words above, no shell
            _MACOS, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
