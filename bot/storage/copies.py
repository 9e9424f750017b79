"""Copies the database, for `signoff backup`, and puts a copy in its place, for `signoff restore`.

Both run on the main thread of a command line, without a loop. A backup may be taken while the bot
runs; a restore needs the lock, so that no bot runs meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from bot.process.durable_files import sync_file, sync_folder
from bot.process.own_folder import own_folder
from bot.storage.connection import RESTORED, CannotOpen, open_plain, refuse_strange_log
from bot.storage.identity import note_mere_copy
from bot.storage.lock import AlreadyRunning, FileLock
from bot.storage.migrations import check_known
from bot.storage.one_file import refuse_other_name
from bot.storage.opening import undisturbed
from bot.storage.queries import PRAGMAS, QUERIES
from bot.storage.remedies import remedy

Progress = Callable[[int], object]

_PAGES_A_STEP: Final = 1_000
#: The files that SQLite keeps beside a database. SQLite applies their content to whatever database
#: has that name when it is opened, also to another one.
_SIDE_FILES: Final = ("-journal", "-wal", "-shm")


def back_up(database: Path, file: Path, progress: Progress = lambda _done: None) -> None:
    """Copy `database` to `file`, which must not exist yet. The bot may write meanwhile.

    `progress` is called with the number of pages done. The copy is one file, checked and forced to
    disk before it gets its name. Raises CannotOpen with a sentence; then `file` is not created.
    """
    _check_free(file)
    if not database.exists():
        raise CannotOpen(f"There is no database {database} to copy.")
    with _alone_at(file):
        _check_free(file)  # another process may have made it before we had the lock
        _copy(database, file, progress, remedy)
        try:
            sync_folder(file.parent)
        except OSError as error:
            file.unlink(missing_ok=True)  # a copy that may be gone after a power failure is none
            raise _not_copied(database, file, error, remedy(error, database)) from error


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
    """Keep other processes from making a copy of the same name meanwhile. Raises CannotOpen.

    Two of them would share one `.part` file: the second would delete the first one's, and the
    first would rename the second one's unfinished file to `file`.
    """
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
    """Put the copy `file` in the place of `database`; return the path where the old one is kept.

    Returns None if there was no old one. `prepare` is called with the copy before it gets the name
    `database`; at every moment one of the two databases has that name. Raises CannotOpen if a
    process holds the database, or if `file` is no sound copy that this program knows; then the
    database is unchanged. It also raises it, and says so, if the disk does not confirm the change.
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
        refuse_other_name(database)
        lock.take()
        fresh = database.with_name(database.name + RESTORED)
        # Side files of an interrupted restore: SQLite would apply them to this copy.
        _without_side_files(fresh)
        _begun(file, fresh, progress)
        _prepared(fresh, prepare)
        kept = _kept_beside(database)
        fresh.replace(database)
    except OSError as error:
        words = f"{file} cannot take the place of {database}: {error.filename}: {error.strerror}."
        raise CannotOpen(words) from error
    else:
        _confirm(file, database)
    finally:
        lock.release()
    return kept


def _confirm(file: Path, database: Path) -> None:
    """Force the new name to the disk. Raises CannotOpen, but then the database was replaced."""
    try:
        sync_folder(database.parent)
    except OSError as error:
        words = (
            f"{file} has taken the place of {database}, but the disk did not confirm it "
            f"({error.strerror}): after a power failure the former one may stand there. Look at "
            "the disk, then with signoff audit verify, before a bot starts on it."
        )
        raise CannotOpen(words) from error


def _begun(file: Path, fresh: Path, progress: Progress) -> None:
    """Copy `file` to `fresh`, which is created empty first.

    If the restore is interrupted, the next start sees `fresh` and does not begin with an empty
    database (`connection._made_ready`).
    """
    is_new = not fresh.exists()
    fresh.touch(mode=0o600)
    sync_folder(fresh.parent)
    try:
        _copy(file, fresh, progress)
        sync_folder(fresh.parent)
    except (CannotOpen, OSError):
        if is_new:
            fresh.unlink(missing_ok=True)
        raise


def _prepared(fresh: Path, prepare: Callable[[Path], object]) -> None:
    """Call `prepare` on the copy. Afterwards all of it must be in one file; raises CannotOpen."""
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
    except (sqlite3.Error, OSError) as error:
        raise _not_copied(source, target, error, remedy_of(error, source)) from error
    finally:
        half_made.unlink(missing_ok=True)


def _not_copied(source: Path, target: Path, error: Exception, remedy: str) -> CannotOpen:
    why = getattr(error, "strerror", None) or error
    return CannotOpen(f"{source} cannot be copied to {target}: {why}.{remedy}")


def _half_of(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _copy_pages(source: Path, half_made: Path, progress: Progress) -> None:
    def told(_status: int, remaining: int, total: int) -> None:
        progress(total - remaining)

    refuse_strange_log(source)
    refuse_other_name(source)
    half_made.touch(mode=0o600)  # it will hold mails and parameters
    with (
        undisturbed(source),
        closing(open_plain(source, writing=False)) as original,
        closing(sqlite3.connect(half_made, isolation_level=None)) as copy,
    ):
        # All pages come from one snapshot. Else SQLite would start again after each write of the
        # bot, and never finish with a large database.
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
    """Link the old database to `<name>.before-<n>`, and remove its side files from the old name.

    SQLite would apply the side files to the new database. Their content is written into the old
    database first, so that it is whole under either name if this process dies here. Returns the
    new name, None if there was no database.
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
    """Return a side file that a database of this name left behind, None if there is none."""
    beside = (file.with_name(file.name + side) for side in _SIDE_FILES[:2])
    return next((each for each in beside if each.exists() and each.stat().st_size), None)


def _without_side_files(database: Path) -> None:
    for side in _SIDE_FILES:
        database.with_name(database.name + side).unlink(missing_ok=True)


def _emptied_wal(database: Path) -> None:
    # A database too damaged for this is kept as it is, together with its side files; so is an empty
    # one, beside which SQLite would delete them, and one to which they do not belong.
    if not database.stat().st_size:
        return
    with suppress(sqlite3.Error, CannotOpen):
        refuse_strange_log(database)
        with closing(sqlite3.connect(database)) as old:
            old.execute(PRAGMAS["empty_wal"])


def _free_name(database: Path) -> Path:
    number = 1
    while (kept := database.with_name(f"{database.name}.before-{number}")).exists():
        number += 1
    return kept
