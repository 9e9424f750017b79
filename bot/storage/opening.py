"""From `database:` in the config to a store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen
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


def path_of(url: str, base: Path) -> Path:
    """Return the file of a `sqlite:///` URL, relative to `base`.

    Raises CannotOpen where the URL names no file that this version can use.
    """
    if url == MEMORY:
        raise CannotOpen(
            "The store is in the memory of the running bot (`database: memory:`); other commands "
            "cannot see it."
        )
    if url.startswith(("postgresql:", "postgres:")):
        raise CannotOpen(
            "PostgreSQL is not supported yet; use `database: sqlite:///data/signoff.db`."
        )
    name = url.removeprefix(_SQLITE)
    if name == url or not name:
        raise CannotOpen(
            f"The database {url!r} is not known; write `sqlite:///data/signoff.db` or `memory:`."
        )
    return base / name
