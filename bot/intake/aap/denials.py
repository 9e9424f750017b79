"""Keep the calls that were denied at once: only the newest of each agent.

Nobody waits for them, so that forgetting one does no harm: asked about again, it is denied again.
The trail has an entry of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.ports import Transaction

#: The most that are kept of one agent, which was answered at once and will hardly look again.
_MOST: Final = 32


def keep(tx: Transaction, agent: str, asked_id: str, call: Mapping[str, Any]) -> None:
    """Store a denied call in the place of the agent's oldest one."""
    ids, oldest = _places(tx, agent)
    # One that is there and comes again can no longer be read where it stands.
    place = ids.index(asked_id) if asked_id in ids else oldest
    ids[place : place + 1] = [asked_id]
    tx.flags.put(_slot(agent, place), dict(call))
    after = (oldest + 1) % _MOST if place == oldest else oldest
    tx.flags.put(_index(agent), {"ids": ids, "next": after})


def kept(tx: Transaction, agent: str, asked_id: str) -> Mapping[str, Any] | None:
    """Return a denied call of an agent, None if it is forgotten or never was."""
    ids, _ = _places(tx, agent)
    if asked_id not in ids:
        return None
    found = tx.flags.get(_slot(agent, ids.index(asked_id)))
    return found if isinstance(found, Mapping) else None


def _places(tx: Transaction, agent: str) -> tuple[list[str], int]:
    """Return the ids of the kept calls, and the next place; nothing if somebody wrote over them."""
    match tx.flags.get(_index(agent)):
        case {"ids": [*ids], "next": int(place)} if len(ids) <= _MOST and 0 <= place <= len(ids):
            return list(map(str, ids)), place
        case _:
            return [], 0


def _index(agent: str) -> str:
    return f"aap-denied:{agent}"


def _slot(agent: str, place: int) -> str:
    return f"aap-denied:{agent}:{place}"
