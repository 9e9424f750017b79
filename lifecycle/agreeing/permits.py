"""Compare the permits in the store with the trail: given, redeemed, taken back (ADR 0013)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lifecycle.agreeing.calls import at_words
from lifecycle.agreeing.retelling import retold
from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.agreeing.told import ToldPermit
from lifecycle.audit import AuditEntry
from lifecycle.errors import PermitRefused
from lifecycle.event_kinds import EventKind
from lifecycle.permit import unverified
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.records import PermitRecord

_COLUMNS: Final = ("permit_id", "proposal_id", "verb", "attempt", "expires_at_ms")


def permit_disagreements(
    tx: Transaction, proposal: Proposal, trail: Sequence[AuditEntry]
) -> list[str]:
    """Return a sentence for each permit that differs from its token or its entry; empty if all
    agree.

    Signatures are not checked here; they are verified at redemption.
    """
    kept = tx.permits.all_of(proposal.proposal_id)
    handed = any(entry.event.kind == EventKind.PERMIT_HANDED_OVER for entry in trail)
    found = [words for permit in kept for words in _about_its_token(permit, handed=handed)]
    if handed:
        found += _about_those_handed_over(kept, retold(trail).permits)
    return [f"proposal {proposal.proposal_id}: {words}" for words in found]


def _about_its_token(permit: PermitRecord, *, handed: bool) -> Iterator[str]:
    """Compare the columns of a permit with its token, which contains all of them.

    A permit for a call of our own is used up in the unit that writes it (ADR 0008). A permit that
    was `handed` over to an agent is for execute and is used up later.
    """
    try:
        issued = unverified(permit.token)
    except PermitRefused:
        yield f"the token of permit {permit.permit_id} is none"
        return
    for name in _COLUMNS:
        if getattr(permit, name) != getattr(issued, name):
            yield f"the {name} of permit {permit.permit_id} is not that of its token"
    ours = not (handed and issued.verb == Verb.EXECUTE)
    if ours and permit.consumed_at_ms != issued.not_before_ms:
        yield f"permit {permit.permit_id} was not used up with the call that it was written for"


def _about_those_handed_over(
    kept: Sequence[PermitRecord], told: Sequence[ToldPermit]
) -> Iterator[str]:
    rows: Mapping[str, PermitRecord] = {digest_told(permit.token): permit for permit in kept}
    for given in told:
        permit, seq = rows.get(given.digest), given.entry.seq
        if permit is None:
            yield f"the permit that entry {seq} handed over is gone, or another one"
        elif at_words(permit.consumed_at_ms) != given.at:
            yield (
                f"the permit that entry {seq} handed over was used up or taken back at "
                f"{at_words(permit.consumed_at_ms)}, the trail says {given.at}"
            )
