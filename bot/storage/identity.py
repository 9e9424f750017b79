"""Which database this is: what waits outside of it, and is of it alone, names it.

A copy is the same one; an empty file, or a store in memory, is another. A copy that was made to be
kept knows that it is one, as long as nothing was written into its trail.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen
from bot.storage.json_text import dump
from bot.storage.queries import QUERIES
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction

_FLAG: Final = "database_id"
_BYTES: Final = 8
_COPIED: Final = "copied"
_MERE_COPY: Final = (
    "{} is a copy that `signoff backup` made, and does not know what was done since. Move it away, "
    "and let `signoff restore` bring it back from there."
)


def id_of(tx: Transaction) -> str | None:
    """Return what the database is known as, None where no bot of now has opened it to write."""
    known = tx.flags.get(_FLAG)
    return known if isinstance(known, str) else None


async def known_as(store: ProposalStore) -> str | None:
    """Return what the database is known as from now on, None where that cannot be written yet."""
    try:
        return await store.read(id_of) or await store.write(_named)
    except StoreUnavailable:
        return None


def _named(tx: Transaction) -> str:
    known = id_of(tx) or secrets.token_hex(_BYTES)
    tx.flags.put(_FLAG, known)
    return known


def note_mere_copy(copy: sqlite3.Connection) -> None:
    """Write into a copy how far its trail goes; raises sqlite3.Error. Rows come by name."""
    head = copy.execute(QUERIES["audit_head"]).fetchone()
    seq = head["seq"] if head is not None else 0
    copy.execute(QUERIES["put_flag"], {"name": _COPIED, "value": dump({"seq": seq})})


async def check_brought_back(store: ProposalStore, file: Path | None) -> None:
    """Raise CannotOpen for a copy as it was made: nobody has put in question what it has open,
    which may have been done since (ADR 0016)."""
    if await store.read(_is_mere_copy):
        raise CannotOpen(_MERE_COPY.format(file))


def _is_mere_copy(tx: Transaction) -> bool:
    copied = tx.flags.get(_COPIED)
    return isinstance(copied, Mapping) and copied.get("seq") == tx.audit.head()[0]
