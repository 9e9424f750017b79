"""Opens the store that `database:` in the config names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen, sealed
from lifecycle.ports import ProposalStore

MEMORY: Final = "memory:"
_SQLITE: Final = "sqlite:///"


async def open_store(url: str, base: Path, *, beside: bool = False) -> ProposalStore:
    """Open the store of `url` for writing; a relative path is relative to `base`.

    With `beside` it may be open in a running bot as well, and no lock is taken. Raises CannotOpen
    with a sentence.
    """
    if url == MEMORY:
        from bot.storage.memory import MemoryStore

        return MemoryStore()
    path = path_of(url, base)
    from bot.storage.sqlite import SqliteStore

    return await SqliteStore.open(path, beside=beside)


async def open_reader(url: str, base: Path) -> ProposalStore:
    """Open the store of `url` for reading only, also beside a running bot. Raises CannotOpen."""
    path = path_of(url, base)
    from bot.storage.sqlite import SqliteStore

    return await SqliteStore.open_reader(path)


@contextmanager
def undisturbed(path: Path | None) -> Iterator[None]:
    """Wrap the reading of a database: raise CannotOpen at the end if a sealed one was changed.

    A sealed database (`connection.sealed`) is read without a lock, so what was read while somebody
    wrote may be incomplete. For every other database, and for None, this does nothing: SQLite's
    locks protect them.
    """
    before = _stamps(path) if path is not None and sealed(path) else None
    yield
    if path is not None and before is not None and _stamps(path) != before:
        raise CannotOpen(f"The database {path} was changed while it was read: read it again.")


def _stamps(path: Path) -> list[tuple[int, int, int]]:
    """Return inode, size and time of the database and its `-wal`, which differ after a write."""
    path = path.resolve()
    parts = (path, path.with_name(path.name + "-wal"))
    found = [part.stat() for part in parts if part.exists()]
    return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in found]


def path_of(url: str, base: Path) -> Path:
    """Return the file of a `sqlite:///` URL, relative to `base`.

    Raises CannotOpen if the URL names no file that this version can use.
    """
    if url == MEMORY:
        raise CannotOpen(
            'The store is in the memory of the running bot (`database: "memory:"`); other commands '
            "cannot see it."
        )
    if url.startswith(("postgresql:", "postgres:")):
        raise CannotOpen(
            "PostgreSQL is not supported yet; use `database: sqlite:///data/signoff.db`."
        )
    name = url.removeprefix(_SQLITE)
    if name == url or not name:
        raise CannotOpen(
            f"The database {url!r} is not known; write `sqlite:///data/signoff.db` or "
            '`"memory:"`, in quotes.'
        )
    return base / name
