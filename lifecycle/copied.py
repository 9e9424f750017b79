"""Tells what is of a restored copy, which cannot know what was done since it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.moment import Moment, is_moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal

WHY: Final = "The database was brought back from a copy, which does not know what was done since."
#: Words for whoever would propose it again: for all that is known it may have been run.
UNKNOWN_SINCE: Final = f"{WHY} Whether it was run is not known: ask before you propose it again."
_FLAG: Final = "restored"


def whether_run(tx: Transaction, proposal: Proposal) -> str:
    """Return a sentence on whether a proposal that never began here was run."""
    return UNKNOWN_SINCE if is_of_a_copy(tx, proposal) else "Nothing was run."


def note_copy(tx: Transaction, moment: Moment) -> None:
    """Remember that all that is here by now is of a copy, by how far its trail goes: a time alone
    would not do, because a clock may be set back."""
    tx.flags.put(_FLAG, {"at_ms": moment.now_ms, "seq": tx.audit.head()[0]})


def noted_copy(tx: Transaction) -> Any:
    """Return what is noted of the last copy that was brought back, None if there was none."""
    return tx.flags.get(_FLAG)


def brought_back_ms(tx: Transaction, proposal: Proposal) -> int:
    """Return when the copy that held the proposal was brought back, ms UTC; 0 if none held it, or
    that is not known."""
    told = noted_copy(tx)
    at_ms = told.get("at_ms") if isinstance(told, Mapping) else None
    return at_ms if is_moment(at_ms) and is_of_a_copy(tx, proposal) else 0


def is_of_a_copy(tx: Transaction, proposal: Proposal) -> bool:
    """Return whether the proposal stood in a copy that was brought back.

    One that no entry tells of counts as a copy's too: nobody can say that it came since. A copy
    that a former version brought back is known by its time alone. If somebody wrote over the note,
    everything counts as a copy's.
    """
    brought_back = noted_copy(tx)
    if brought_back is None:
        return False
    told = brought_back if isinstance(brought_back, Mapping) else {}
    last_seq, at_ms = told.get("seq"), told.get("at_ms")
    if "seq" not in told and is_moment(at_ms):
        return proposal.created_at_ms <= at_ms
    if not isinstance(last_seq, int) or isinstance(last_seq, bool):
        return True
    first_seq = tx.audit.first_of(proposal.proposal_id)
    return first_seq is None or first_seq <= last_seq
