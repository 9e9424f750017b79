"""Files that are there whole or not at all, whatever happens in between."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_NOT_IN_USE = ".part"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, both on disk to stay.

    Raises OSError, leaving nothing half written where it can.
    """
    part = path.with_name(path.name + _NOT_IN_USE)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        move(part, path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def move(source: Path, target: Path) -> None:
    """Rename within one file system; the new name is on disk when this returns."""
    source.replace(target)
    settle(target.parent)
    if source.parent != target.parent:
        settle(source.parent)


def discard(path: Path) -> bool:
    """Remove a file for good; False where it was not there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    settle(path.parent)
    return True


def settle(folder: Path) -> None:
    """Force the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
