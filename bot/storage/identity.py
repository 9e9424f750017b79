"""Every database has a name, by which the stops in the spool say which database they are for.

The name is a flag, so a copy of the file has the same name; an empty file or a store in memory has
another one. A file made by `signoff backup` also holds a mark that it is a mere copy. The mark
counts as long as the trail has no entry beyond those that were copied.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen
from bot.storage.json_text import dump
from bot.storage.queries import QUERIES
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction

_FLAG: Final = "database_id"
#: True while stops may wait under a name that the database had before the present one.
_FORGOTTEN: Final = "database_id_forgotten"
_BYTES: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{16}")
_COPIED: Final = "copied"
_MERE_COPY: Final = (
    "{} is a copy that `signoff backup` made, and does not know what was done since. Move it away, "
    "and let `signoff restore` bring it back from there."
)


@dataclass(frozen=True, slots=True)
class Known:
    """The name of the database, None if it has none yet.

    `forgotten` is True if it may have had another name before: somebody overwrote the flag, or
    `restore` brought back a copy from before there were names. A stop in the spool that names
    another database may then be for this one.
    """

    name: str | None
    forgotten: bool


def known_of(tx: Transaction) -> Known:
    """Return the name of the database; a view. One with an empty trail has forgotten no name."""
    told = tx.flags.get(_FLAG)
    named = isinstance(told, str) and _ID.fullmatch(told) is not None
    nameless = not named and tx.audit.head()[0] > 0
    return Known(told if named else None, nameless or tx.flags.get(_FORGOTTEN) is True)


async def known_as(store: ProposalStore, others_wait: Callable[[str | None], bool]) -> Known:
    """Return the name of the database at a start; give it one if it has none and can be written.

    `others_wait(name)` says whether a stop waits that names another database and that the database
    `name` has not carried out. As long as one does, `forgotten` is kept in the database, because
    this process may end before it has carried them all out. If the store cannot be read, the answer
    is no name and `forgotten`; if it can only be read, the answer is what was read.
    """
    known = None
    try:
        known = await store.read(known_of)
        forgotten = known.forgotten and others_wait(known.name)
        if known.name is not None and forgotten is known.forgotten:
            return known
        return await store.write(partial(_named, forgotten=forgotten))
    except StoreUnavailable:
        return Known(None, forgotten=True) if known is None else known


def _named(tx: Transaction, *, forgotten: bool) -> Known:
    known = Known(known_of(tx).name or secrets.token_hex(_BYTES), forgotten)
    tx.flags.put(_FLAG, known.name)
    if forgotten or tx.flags.get(_FORGOTTEN) is not None:
        tx.flags.put(_FORGOTTEN, forgotten)
    return known


def forget_name(tx: Transaction, but: str | None) -> None:
    """Remove the name from a copy that `restore` brings back, unless it replaces the database of
    the same name (`but`). Else that database may still be in use elsewhere, and a stop that names
    it might be for either of the two."""
    if known_of(tx).name != but:
        tx.flags.put(_FLAG, None)


def note_mere_copy(copy: sqlite3.Connection) -> None:
    """Mark a copy as a mere one by writing the last seq of its trail into it.

    Its `row_factory` must be sqlite3.Row. Raises sqlite3.Error.
    """
    head = copy.execute(QUERIES["audit_head"]).fetchone()
    seq = head["seq"] if head is not None else 0
    copy.execute(QUERIES["put_flag"], {"name": _COPIED, "value": dump({"seq": seq})})


async def check_brought_back(store: ProposalStore, file: Path | None) -> None:
    """Raise CannotOpen if the store is a copy that `restore` has not brought back.

    What is open in it may have been carried out since it was made, and only `restore` voids the
    approvals in it (ADR 0016).
    """
    if await store.read(_is_mere_copy):
        raise CannotOpen(_MERE_COPY.format(file))


def _is_mere_copy(tx: Transaction) -> bool:
    copied = tx.flags.get(_COPIED)
    return isinstance(copied, Mapping) and copied.get("seq") == tx.audit.head()[0]
