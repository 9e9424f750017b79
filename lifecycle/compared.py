"""What a policy is compared with, worked out once for all that is judged again under it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from lifecycle.last_judged import policy_before
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from lifecycle.proposal import Proposal
from lifecycle.standing import Standing, standing_of, standing_under


@dataclass(slots=True)
class Compared:
    """The standings of the policy in force and of those under which proposals were judged before.

    With hundreds of tools and people one takes ten milliseconds to work out and one to read, and
    thousands of open proposals ask for the same few.
    """

    _after: tuple[Policy, Standing] | None = None
    _before: dict[str, Standing] = field(default_factory=dict)

    def after(self, policy: Policy) -> Standing:
        """Return the fingerprints of `policy`."""
        if self._after is None or self._after[0] is not policy:
            self._after = policy, standing_of(policy)
        return self._after[1]

    async def before(self, store: ProposalStore, proposal: Proposal) -> Standing | None:
        """Return what is kept of the policy under which `proposal` was last judged, else None.

        Raises StoreUnavailable.
        """
        digest = policy_before(proposal)
        known = self._before.get(digest)
        if known is None:
            known = await store.read(partial(standing_under, digest=digest))
            if known is not None:
                self._before[digest] = known
        return known

    def forget(self) -> None:
        """Another policy is taken: those before it are others now."""
        self._before.clear()
