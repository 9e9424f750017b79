"""How the surfaces stood when a running bot last looked, for `status` and the numbers of the HTTP
door: neither asks a platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.moment import is_moment
from lifecycle.ports import Transaction

#: The flag in which the bot keeps it.
FLAG: Final = "surfaces"


def served_names(tx: Transaction) -> tuple[str, ...]:
    """Return the surfaces of the bot that looked last: those of a shell beside it may be others."""
    kept = kept_health(tx)
    return tuple(kept["names"]) if kept is not None else ()


def deaf_names(tx: Transaction) -> frozenset[str]:
    """Return the surfaces that heard nothing when the bot last looked; a view."""
    kept = kept_health(tx)
    return frozenset(kept["troubles"]) if kept is not None else frozenset()


def kept_health(tx: Transaction) -> Mapping[str, Any] | None:
    """Return how the surfaces stood when a running bot last looked, None where nothing that a bot
    wrote stands there; a view."""
    match tx.flags.get(FLAG):
        case {
            "at_ms": at_ms,
            "names": [*names],
            "lines": [*lines],
            "troubles": {**troubles},
        } as kept:
            told = all(isinstance(each, str) for each in (*names, *lines))
            known = is_moment(at_ms) and all(map(_is_trouble, troubles.values()))
            return kept if told and known else None
        case _:
            return None


def _is_trouble(found: object) -> bool:
    match found:
        case {"since_ms": since_ms, "why": str()}:
            return is_moment(since_ms)
        case _:
            return False
