"""Reads the lines of the spool: which stop a line holds, for which database, and which are torn.

`FileSpool` uses it on the event loop; `status` and `thaw` use it to look at the file of a bot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bot.storage.identity import Known
from bot.storage.json_text import load
from lifecycle.proposal import ActorKind

_NEEDED: Final = ("proposal_id", "surface")
_TEXTS: Final = ("reason", "account", "database")
_TEXTS_OR_NONE: Final = ("id", "event_id", "heir")
_KINDS: Final = (None, *(kind.value for kind in ActorKind))
#: The key that names the database of a stop; lines of older versions do not have it.
OF: Final = "database"
#: The key that lists other databases which carried the stop out because they forgot a name.
DONE: Final = "done_in"


def stops_in(path: Path) -> list[dict[str, Any]]:
    """Return the stops in a spool for any database, oldest first, without a lock; only to look.

    Raises OSError if the file cannot be read.
    """
    stops = map(stop_in, lines_of(path))
    return [stop for stop in stops if stop is not None]


def others_wait(path: Path, database: str | None) -> bool:
    """Return True if a stop waits that names another database and that `database` has not carried
    out. Raises OSError as `stops_in` does."""
    return any(
        OF in stop and stop[OF] != database and database not in stop.get(DONE, ())
        for stop in stops_in(path)
    )


def stops_of(stops: Collection[Mapping[str, Any]], known: Known) -> list[Mapping[str, Any]]:
    """Return the stops that a database known as `known` would carry out; those that name no
    database are among them."""

    def waits(stop: Mapping[str, Any]) -> bool:
        own = stop.get(OF) in (None, known.name)
        return own or (known.forgotten and known.name not in stop.get(DONE, ()))

    return list(filter(waits, stops))


def as_kept(stop: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stop as it was given to be kept: without the keys that say for which database."""
    return {name: value for name, value in stop.items() if name not in (OF, DONE)}


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a spool, none if there is no file. Raises OSError."""
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def written(lines: Sequence[bytes]) -> bytes:
    """Return the bytes of a file with these lines."""
    return b"".join(line + b"\n" for line in lines)


def stop_in(line: bytes) -> dict[str, Any] | None:
    """Return the stop that a line holds, None if it is torn or somebody changed it."""
    try:
        stop = load(line.decode())
    except (ValueError, RecursionError):
        return None
    return stop if isinstance(stop, dict) and _is_stop(stop) else None


def _is_stop(stop: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(stop.get(name), str) for name in _NEEDED)
        and all(isinstance(stop.get(name, ""), str) for name in _TEXTS)
        and all(isinstance(stop.get(name, ""), str | None) for name in _TEXTS_OR_NONE)
        and all(stop.get(name) in _KINDS for name in ("kind", "heir_kind"))
        and type(stop.get("at_ms", 0)) is int
        and type(stop.get("found_late", False)) is bool
        and type(stop.get("freezes", False)) is bool
        and type(stop.get("bare", False)) is bool
        and isinstance(done := stop.get(DONE, []), list)
        and all(isinstance(each, str) for each in done)
    )
