"""Copies of the database: taken while the bot runs, brought back while none does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from bot.durable_files import sync_file, sync_folder
from bot.own_folder import own_folder
from bot.storage.connection import RESTORED, CannotOpen, open_plain
from bot.storage.identity import note_mere_copy
from bot.storage.lock import AlreadyRunning, FileLock
from bot.storage.migrations import check_known
from bot.storage.opening import undisturbed
from bot.storage.queries import PRAGMAS, QUERIES
from bot.storage.remedies import remedy

Progress = Callable[[int], object]

_PAGES_A_STEP: Final = 1_000
#: What SQLite keeps beside a database. What it holds is read into whatever has that name by then.
_SIDE_FILES: Final = ("-journal", "-wal", "-shm")


def back_up(database: Path, file: Path, progress: Progress = lambda _done: None) -> None:
    """Copy `database` into `file`, which must not exist, also while the bot writes.

    `progress` is told how many pages are done. The copy is one file, checked and forced to disk
    before it gets its name. Raises CannotOpen with a sentence; then no `file` arises.
    """
    _check_free(file)
    if not database.exists():
        raise CannotOpen(f"There is no database {database} to copy.")
    with _alone_at(file):
        _check_free(file)  # another one may have been faster
        _copy(database, file, progress, remedy)


def _check_free(file: Path) -> None:
    if file.exists():
        raise CannotOpen(f"{file} exists already; name a file that does not.")
    if left := _left_beside(file):
        words = "SQLite would read it into the copy. Move it away, or name another file."
        raise CannotOpen(f"{left} is of another {file.name}: {words}")
    if not file.parent.is_dir():
        raise CannotOpen(f"There is no folder {file.parent}. Make it, or name another file.")


@contextmanager
def _alone_at(file: Path) -> Iterator[None]:
    """Let no other process make a copy of this name meanwhile: it would take the half that is made
    from under its name, and its own half would be called the whole. Raises CannotOpen."""
    lock = FileLock(_half_of(file))
    try:
        lock.take()
    except AlreadyRunning:
        words = "Wait for its end, or name another file."
        raise CannotOpen(f"Another process is just making {file}. {words}") from None
    try:
        yield
    finally:
        lock.path.unlink(missing_ok=True)
        lock.release()


def bring_back(
    file: Path,
    database: Path,
    progress: Progress = lambda _done: None,
    prepare: Callable[[Path], object] = lambda _fresh: None,
) -> Path | None:
    """Put the copy `file` in the place of `database`; return where the old one stands now.

    `prepare` is given the copy before it takes the name. At every moment either database has it.
    Raises CannotOpen where a process holds the database, or where `file` is no sound copy that
    this program knows; then nothing has changed.
    """
    if not file.exists():
        raise CannotOpen(f"There is no file {file}.")
    lock = FileLock(database)
    database = lock.database
    if database.exists() and database.samefile(file):
        words = "nothing would be brought back, and every approval in it would be void."
        raise CannotOpen(f"{file} is the database itself: {words} Name the file of a backup.")
    try:
        own_folder(database.parent)
        lock.take()
        fresh = database.with_name(database.name + RESTORED)
        # Of a restore that was cut off; SQLite would read them into this copy.
        _without_side_files(fresh)
        _begun(file, fresh, progress)
        _prepared(fresh, prepare)
        kept = _kept_beside(database)
        fresh.replace(database)
        sync_folder(database.parent)
    except OSError as error:
        words = f"{file} cannot take the place of {database}: {error.filename}: {error.strerror}."
        raise CannotOpen(words) from error
    finally:
        lock.release()
    return kept


def _begun(file: Path, fresh: Path, progress: Progress) -> None:
    """Copy `file`. From the first moment its name stands there, though empty: where all of this
    ends in the middle, a start knows of it and begins no empty database."""
    is_new = not fresh.exists()
    fresh.touch(mode=0o600)
    sync_folder(fresh.parent)
    try:
        _copy(file, fresh, progress)
    except CannotOpen:
        if is_new:
            fresh.unlink(missing_ok=True)
        raise


def _prepared(fresh: Path, prepare: Callable[[Path], object]) -> None:
    """Have a copy made ready; all of it must then stand in its one file."""
    prepare(fresh)
    for side in (".lock", "-shm"):
        fresh.with_name(fresh.name + side).unlink(missing_ok=True)
    if fresh.with_name(fresh.name + "-wal").exists():
        raise CannotOpen(f"{fresh} is still in use by somebody; nothing was changed.")


def _copy(
    source: Path,
    target: Path,
    progress: Progress,
    remedy_of: Callable[[Exception, Path], str] = lambda _error, _path: "",
) -> None:
    half_made = _half_of(target)
    try:
        half_made.unlink(missing_ok=True)
        _copy_pages(source, half_made, progress)
        sync_file(half_made)
        half_made.replace(target)
        sync_folder(target.parent)
    except (sqlite3.Error, OSError) as error:
        why = getattr(error, "strerror", None) or error
        words = f"{source} cannot be copied to {target}: {why}.{remedy_of(error, source)}"
        raise CannotOpen(words) from error
    finally:
        half_made.unlink(missing_ok=True)


def _half_of(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _copy_pages(source: Path, half_made: Path, progress: Progress) -> None:
    def told(_status: int, remaining: int, total: int) -> None:
        progress(total - remaining)

    half_made.touch(mode=0o600)  # mails and parameters stand in it
    with (
        undisturbed(source),
        closing(open_plain(source, writing=False)) as original,
        closing(sqlite3.connect(half_made, isolation_level=None)) as copy,
    ):
        # One snapshot: after each write of the bot SQLite would begin anew, and with a large
        # database come to no end.
        original.execute(QUERIES["begin_reading"])
        check_known(original, source)
        original.backup(copy, pages=_PAGES_A_STEP, progress=told)
        copy.row_factory = sqlite3.Row
        copy.execute(PRAGMAS["single_file"])
        note_mere_copy(copy)
        found = copy.execute(PRAGMAS["integrity"]).fetchone()[0]
        if found != "ok":
            raise CannotOpen(f"{source} is damaged: {found}.")


def _kept_beside(database: Path) -> Path | None:
    """Give the database a second name, and take its side files from under the first one.

    They would be read into the new one. What they hold is written into the database before, so
    that it is whole under either name if this process ends right here.
    """
    kept = None
    if database.exists():
        _emptied_wal(database)
        kept = _free_name(database)
        for side in ("", *_SIDE_FILES):
            part = database.with_name(database.name + side)
            if part.exists():
                os.link(part, kept.with_name(kept.name + side))
    _without_side_files(database)
    return kept


def _left_beside(file: Path) -> Path | None:
    """Return what a database that is gone left where a copy is to stand, None for nothing."""
    beside = (file.with_name(file.name + side) for side in _SIDE_FILES[:2])
    return next((each for each in beside if each.exists() and each.stat().st_size), None)


def _without_side_files(database: Path) -> None:
    for side in _SIDE_FILES:
        database.with_name(database.name + side).unlink(missing_ok=True)


def _emptied_wal(database: Path) -> None:
    # A database that is too damaged for it is kept as it is, side files and all.
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as old:
        old.execute(PRAGMAS["empty_wal"])


def _free_name(database: Path) -> Path:
    number = 1
    while (kept := database.with_name(f"{database.name}.before-{number}")).exists():
        number += 1
    return kept
