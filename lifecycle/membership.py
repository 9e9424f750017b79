"""Whether those who approved are still there, asked where an approval is counted without an act."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from lifecycle.ports import Transaction
from lifecycle.review import Decision
from lifecycle.world import World


@dataclass(frozen=True, slots=True)
class Membership:
    """Who was asked for, and who of them could not be confirmed."""

    asked: frozenset[str] = frozenset()
    lost: Collection[str] = ()

    def covers(self, tx: Transaction, proposal_id: str) -> bool:
        """Say whether nobody has approved whom nobody asked for."""
        return self.asked >= _approvers(proposal_id, tx)


async def of_approvers(world: World, proposal_id: str) -> Membership:
    """Ask for everybody whose approval of this proposal counts as it is written.

    Each was confirmed when it was given: only who has surely left since is lost.
    """
    people = await world.store.read(partial(_approvers, proposal_id))
    if not people:
        return Membership()
    return Membership(people, await world.notifier.lost_members(people, surely=True))


def _approvers(proposal_id: str, tx: Transaction) -> frozenset[str]:
    reviews = tx.reviews.of(proposal_id)
    return frozenset(r.person for r in reviews if r.counts and r.decision is Decision.APPROVE)
