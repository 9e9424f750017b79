"""Reads the flag in which a running bot keeps the state of its surfaces.

`status` and the metrics of the HTTP door use it, because neither asks a platform. All functions
that take `tx` are views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.moment import is_moment
from lifecycle.ports import Transaction

#: The name of that flag.
FLAG: Final = "surfaces"


def served_names(tx: Transaction) -> tuple[str, ...]:
    """Return the surfaces of the bot that looked last; a shell may have tokens for others. A view.

    Empty if no bot has looked yet.
    """
    kept = kept_health(tx)
    return tuple(kept["names"]) if kept is not None else ()


def deaf_names(tx: Transaction) -> frozenset[str]:
    """Return the surfaces that could not hear when the bot last looked; a view."""
    kept = kept_health(tx)
    return frozenset(kept["troubles"]) if kept is not None else frozenset()


def kept_health(tx: Transaction) -> Mapping[str, Any] | None:
    """Return the state of the surfaces when a bot last looked; a view.

    None if the flag was never set, or holds what no bot wrote.
    """
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
