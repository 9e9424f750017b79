"""Files that are on the disk, whole or not at all, once these functions return.

They are their owner's alone. All raise OSError.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

_NOT_IN_USE: Final = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in the place of `path`; whoever reads, also after a crash, sees the old or the
    new, whole. Leaves nothing half written where it can."""
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
    """Write a file, unless another process wrote that one meanwhile: then it stays as it is."""
    descriptor, name = mkstemp(prefix=f"{path.name}.", dir=path.parent)
    draft = Path(name)  # nobody else's, also where a former process with our number died here
    try:
        _fill(descriptor, content)
        _published(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def move(source: Path, target: Path) -> None:
    """Rename within one file system; the new name is on disk when this returns."""
    source.replace(target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)


def discard(path: Path) -> bool:
    """Remove a file for good; False where it was not there."""
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
    """Write what is on disk when this returns, and close."""
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _published(draft: Path, path: Path) -> None:
    """Give a file its name, unless another one has it by now."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:  # a file system without links, where this is as much as there is
        draft.replace(path)
