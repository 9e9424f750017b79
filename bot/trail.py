"""The whole audit trail, read in pages: verified or written out (design section 10)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.books import look
from bot.config import Config
from lifecycle.audit import GENESIS, broken_links
from lifecycle.ports import Transaction

_PAGE: Final = 500


@dataclass(slots=True)
class Verified:
    """What checking found; `problems` is empty where every link holds."""

    entries: int = 0
    head: str = GENESIS
    problems: list[str] = field(default_factory=list)


async def verified(config: Config, anchor: str | None, done: Callable[[int], None]) -> Verified:
    """Check every link, and that `anchor` is one of the hashes; tell `done` how many were read."""
    return await look(config, lambda tx, _now: _checked(tx, anchor, done), must_exist=True)


async def exported(config: Config, write: Callable[[str], None]) -> None:
    """Write every entry as one line of JSON."""

    def view(tx: Transaction, _now: int) -> None:
        for entry in _entries(tx):
            write(json.dumps(entry, separators=(",", ":")))

    await look(config, view, must_exist=True)


def _checked(tx: Transaction, anchor: str | None, done: Callable[[int], None]) -> Verified:
    found = Verified()

    def counted() -> Iterator[Mapping[str, Any]]:
        for entry in _entries(tx):
            found.entries += 1
            found.head = str(entry.get("entry_hash"))
            if found.entries % _PAGE == 0:
                done(found.entries)
            yield entry

    found.problems = broken_links(counted(), anchor)
    return found


def _entries(tx: Transaction) -> Iterator[Mapping[str, Any]]:
    """Yield every entry as stored; a page at a time, so that no trail is too long."""
    after = 0
    while page := tx.audit.exported(after, _PAGE):
        yield from page
        after = int(page[-1]["seq"])
