"""Writes the entry of a refused attempt to use a permit, and finds which proposal it was about."""

from __future__ import annotations

from lifecycle import permit as permits
from lifecycle.answers import Sender
from lifecycle.door import record
from lifecycle.errors import PermitRefused
from lifecycle.event_kinds import EventKind
from lifecycle.permit import KeyRing
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.text.masking import plain_words
from lifecycle.world import World


async def note_refused(world: World, sender: Sender, code: str, proposal_id: str) -> None:
    """Write the entry of a refused attempt, in the trail of its proposal if there is one.

    Nothing is written while the store is unavailable: the attempt is refused all the same.
    """
    moment = world.moment()

    def unit(tx: Transaction) -> None:
        record(
            tx,
            moment,
            EventKind.PERMIT_REFUSED,
            sender.identity,
            proposal=tx.proposals.get(proposal_id),
            sender=sender,
            reason=code,
            details={"account": plain_words(sender.account)},
        )

    try:
        await world.write(unit)
    except StoreUnavailable:
        return


def claimed_id(token: str, ring: KeyRing) -> str:
    """Return the id of the proposal of a permit that this bot signed, empty for any other token."""
    try:
        return permits.read(token, ring).proposal_id
    except PermitRefused:
        return ""
