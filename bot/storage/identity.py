"""Which database this is: what waits outside of it, and is of it alone, names it.

A copy is the same one; an empty file, or a store in memory, is another. A copy that was made to be
kept knows that it is one, as long as nothing was written into its trail.
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
#: Set while stops may wait under a name that it had before this one.
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
    """What the database is known as, None where nothing names it yet.

    `forgotten`: it may have had a name that it does not know, as where somebody wrote over it, or a
    copy from before there were names was brought back. What waits for a name that is not its own
    may then be of it.
    """

    name: str | None
    forgotten: bool


def known_of(tx: Transaction) -> Known:
    """Return what the database is known as; a view. An empty one has forgotten nothing."""
    told = tx.flags.get(_FLAG)
    named = isinstance(told, str) and _ID.fullmatch(told) is not None
    nameless = not named and tx.audit.head()[0] > 0
    return Known(told if named else None, nameless or tx.flags.get(_FORGOTTEN) is True)


async def known_as(store: ProposalStore, others_wait: Callable[[str | None], bool]) -> Known:
    """Return what the database is known as from now on; it is named where it has no name and can
    be written.

    That it has forgotten another name is remembered as long as stops wait which name one and were
    not carried out by the one that is given here (`others_wait`): this process may end before.
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
    """Let a copy that is brought back forget its name, unless it takes the place of the very
    database that has it (`but`): it may still work elsewhere, and what waits then is of both."""
    if known_of(tx).name != but:
        tx.flags.put(_FLAG, None)


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
