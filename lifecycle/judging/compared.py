"""Keeps the fingerprints of policies in memory while many proposals are judged again under one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from lifecycle.proposal import Proposal
from lifecycle.verdicts.fingerprints import Fingerprints, fingerprints_of, fingerprints_under
from lifecycle.verdicts.last_judged import policy_before


@dataclass(slots=True)
class Compared:
    """Fingerprints of the policy in force, and of those under which proposals were judged before.

    With hundreds of tools and people, one takes ten milliseconds to compute and one to read, and
    thousands of open proposals ask for the same few.
    """

    _after: tuple[Policy, Fingerprints] | None = None
    _before: dict[str, Fingerprints] = field(default_factory=dict)

    def after(self, policy: Policy) -> Fingerprints:
        """Return the fingerprints of `policy`."""
        if self._after is None or self._after[0] is not policy:
            self._after = policy, fingerprints_of(policy)
        return self._after[1]

    async def before(self, store: ProposalStore, proposal: Proposal) -> Fingerprints | None:
        """Return the fingerprints of the policy that judged `proposal` last, None if nothing is
        kept of it.

        Raises StoreUnavailable.
        """
        digest = policy_before(proposal)
        known = self._before.get(digest)
        if known is None:
            known = await store.read(partial(fingerprints_under, digest=digest))
            if known is not None:
                self._before[digest] = known
        return known

    def forget(self) -> None:
        """Forget the former policies' fingerprints, because another policy was taken."""
        self._before.clear()
