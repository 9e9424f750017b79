"""From `database:` in the config to a store."""

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

    `beside` writes beside a running bot, without its lock. Raises CannotOpen with a sentence.
    """
    if url == MEMORY:
        from bot.storage.memory import MemoryStore

        return MemoryStore()
    path = path_of(url, base)
    from bot.storage.sqlite import SqliteStore

    return await SqliteStore.open(path, beside=beside)


async def open_reader(url: str, base: Path) -> ProposalStore:
    """Open the store of `url` only to read, beside a running bot. Raises CannotOpen."""
    path = path_of(url, base)
    from bot.storage.sqlite import SqliteStore

    return await SqliteStore.open_reader(path)


@contextmanager
def undisturbed(path: Path | None) -> Iterator[None]:
    """Read within this what may be read without a lock; other databases are their locks' affair.

    Raises CannotOpen at the end where somebody wrote meanwhile: what was read may be half of it.
    """
    before = _stamps(path) if path is not None and sealed(path) else None
    yield
    if path is not None and before is not None and _stamps(path) != before:
        raise CannotOpen(f"The database {path} was changed while it was read: read it again.")


def _stamps(path: Path) -> list[tuple[int, int, int]]:
    """Return what tells a database and its side file from what they are after a write."""
    path = path.resolve()
    parts = (path, path.with_name(path.name + "-wal"))
    found = [part.stat() for part in parts if part.exists()]
    return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in found]


def path_of(url: str, base: Path) -> Path:
    """Return the file of a `sqlite:///` URL, relative to `base`.

    Raises CannotOpen where the URL names no file that this version can use.
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
