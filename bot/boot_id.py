"""In which run of the machine we are: its boot clock begins anew with each one."""

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
    """Return a text by which two processes know that their boot clocks are one; empty: unknown."""
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
