"""Keeps by which policy and evidence a proposal was judged last, and tells whether those hold.

`checked_policy_digest` of a proposal names the policy. If evidence objects, or may, and can decide
nothing yet (the tool has not answered, or the policy in force has not judged the row), "+evidence"
is appended to it on purpose: the value then differs from every policy's digest, so that the
proposal counts as judged under another policy and is judged again. Nothing closes or commits it
before, and the check under the policy in force comes to it as soon as its tool's answer is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.evidence import unjudged
from lifecycle.fitting import fits_its_digest
from lifecycle.moment import Moment
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Outcome, Proposal
from lifecycle.verdicts.fingerprints import in_force
from lifecycle.verdicts.gathering import evidence_ids

#: The rules that read the evidence on record.
BY_EVIDENCE: Final = frozenset({"preconditions_hold"})
_EVIDENCE_OBJECTS: Final = "+evidence"


def judged_under(policy: Policy, proposal: Proposal) -> bool:
    """Return whether this policy judged it last, and no evidence is still to be judged by.

    Compare by this function alone: a proposal that carries the mark is judged under no policy.
    """
    return proposal.checked_policy_digest == policy.digest


def judged_as_it_stands(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return whether it was judged last by the policy in force and by all evidence on record."""
    return (
        judged_under(moment.policy, proposal)
        and in_force(tx, moment)
        and not _names_unjudged(tx, proposal)
    )


def awaits_answer(proposal: Proposal) -> bool:
    """Return whether its last call has no known outcome yet; then it cannot be taken back."""
    execution = proposal.execution
    return execution is not None and execution.outcome in (Outcome.RUNNING, Outcome.UNKNOWN)


def policy_before(proposal: Proposal) -> str:
    """Return the digest of the policy that judged it last, without the mark; empty if none did."""
    return (proposal.checked_policy_digest or "").removesuffix(_EVIDENCE_OBJECTS)


def is_owed(proposal: Proposal) -> bool:
    """Return whether it carries the mark: its evidence is still to be judged by."""
    return (proposal.checked_policy_digest or "").endswith(_EVIDENCE_OBJECTS)


def note_judged(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Note that it was judged again under the policy of this moment; set `changes` as well."""
    return amend(
        tx,
        moment,
        proposal,
        EventKind.RECHECKED,
        SENTINEL,
        details=details,
        checked_policy_digest=moment.policy.digest,
        policy_digest=moment.policy.digest,
        **changes,
    )


def note_owed(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Append the mark: evidence objects, or may, and can decide nothing yet."""
    mark = policy_before(proposal) + _EVIDENCE_OBJECTS
    told = {"why": why}
    return amend(
        tx,
        moment,
        proposal,
        EventKind.CHECK_OWED,
        SENTINEL,
        details=told,
        checked_policy_digest=mark,
    )


def note_paid(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Take the mark off: it was judged by its evidence, and stays as it is."""
    if not is_owed(proposal):
        return proposal
    before = policy_before(proposal)
    return amend(tx, moment, proposal, EventKind.CHECK_PAID, SENTINEL, checked_policy_digest=before)


def _names_unjudged(tx: Transaction, proposal: Proposal) -> bool:
    """Return whether it names a packet that was recorded and that nobody has judged by yet.

    The store is asked only if it names evidence; a row changed behind our back counts as naming
    none.
    """
    named = evidence_ids(proposal) if fits_its_digest(proposal) else frozenset()
    return bool(named) and not named.isdisjoint(unjudged(tx))
