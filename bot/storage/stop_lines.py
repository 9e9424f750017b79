"""The lines in which stops wait on disk: of which database each is, and what is none."""

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
#: Of which database a stop is; a line of an older version does not say it.
OF: Final = "database"
#: Which others have carried it out, as they had forgotten what they were named.
DONE: Final = "done_in"


def stops_in(path: Path) -> list[dict[str, Any]]:
    """Return the stops that wait in a spool, of whichever database, oldest first; only to look.
    Raises OSError where it cannot be read."""
    stops = map(stop_in, lines_of(path))
    return [stop for stop in stops if stop is not None]


def others_wait(path: Path, database: str | None) -> bool:
    """Say whether a stop waits that names another database, and that this one has not carried out.
    Raises OSError as `stops_in`."""
    return any(
        OF in stop and stop[OF] != database and database not in stop.get(DONE, ())
        for stop in stops_in(path)
    )


def stops_of(stops: Collection[Mapping[str, Any]], known: Known) -> list[Mapping[str, Any]]:
    """Return those of the database that is known so; what names none may be of any."""

    def waits(stop: Mapping[str, Any]) -> bool:
        own = stop.get(OF) in (None, known.name)
        return own or (known.forgotten and known.name not in stop.get(DONE, ()))

    return list(filter(waits, stops))


def as_kept(stop: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stop as it was given to be kept: without whose it is."""
    return {name: value for name, value in stop.items() if name not in (OF, DONE)}


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a spool, none where there is none. Raises OSError."""
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def written(lines: Sequence[bytes]) -> bytes:
    """Return what is written for these lines."""
    return b"".join(line + b"\n" for line in lines)


def stop_in(line: bytes) -> dict[str, Any] | None:
    """Return the stop that a line holds, None where it is torn or somebody wrote into it."""
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
