"""Writes files so that they are on the disk, whole or not at all, when the function returns.

The files can be read by their owner alone. All functions raise OSError and block until the disk has
answered; those that are called on the event loop hold it up so long.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

_NOT_IN_USE: Final = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of `path`. A reader sees the old or the new content whole, also after a
    crash. If it fails, the unfinished file is removed as far as possible."""
    part = path.with_name(path.name + _NOT_IN_USE)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _fill(descriptor, content)
        move(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_first(path: Path, content: bytes) -> None:
    """Write a new file; if another process has made it meanwhile, that one stays as it is."""
    descriptor, name = mkstemp(prefix=f"{path.name}.", dir=path.parent)
    draft = Path(name)  # unique, even if a former process with our number died here
    try:
        _fill(descriptor, content)
        _published(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def move(source: Path, target: Path) -> None:
    """Rename within one file system; the new name is on the disk when this returns."""
    source.replace(target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)


def discard(path: Path) -> bool:
    """Remove a file, and force that to the disk; return False if it was not there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk."""
    _sync(folder)


def sync_file(path: Path) -> None:
    """Force the content of a file to disk."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fill(descriptor: int, content: bytes) -> None:
    """Write the content, force it to the disk, and close the descriptor."""
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _published(draft: Path, path: Path) -> None:
    """Give the draft its name, unless another file has that name by now."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links; a rename is the best that it offers
        draft.replace(path)
