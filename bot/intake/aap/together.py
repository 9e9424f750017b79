"""Keep which calls stand on one proposal: it is withdrawn once none of them waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.moment import LAST_MS, is_moment
from lifecycle.ports import Transaction

#: The note of a proposal of which nobody knows any more which calls stand on it.
FOR_EVER: Final[Mapping[str, Any]] = {"calls": {}, "more_until_ms": LAST_MS}


def noted(tx: Transaction, proposal_id: str | None) -> dict[str, Any] | None:
    """Return the deadlines of the calls by id, and until when more than these wait (ms UTC); None
    if nothing is noted.

    If somebody wrote over the note, others may wait for ever: no call takes the proposal back.
    """
    match tx.flags.get(_flag(proposal_id)):
        case None:
            return None
        case {"calls": {**calls}, "more_until_ms": more_until_ms}:
            known = all(map(is_moment, (*calls.values(), more_until_ms)))
            return {"calls": calls, "more_until_ms": more_until_ms} if known else {**FOR_EVER}
        case _:
            return {**FOR_EVER}


def note(tx: Transaction, proposal_id: str | None, those: Mapping[str, Any]) -> None:
    """Note which calls stand on a proposal, as `noted` returns it."""
    tx.flags.put(_flag(proposal_id), dict(those))


def _flag(proposal_id: str | None) -> str:
    return f"aap-calls:{proposal_id}"
