"""By what a row was last judged, and whether that still holds: the policy and the evidence.

`checked_policy_digest` names the policy. A mark behind it says that evidence objects which could
decide nothing yet. Such a row counts as judged under another policy: nothing closes or commits it,
and the check under the policy in force comes to it as soon as its tool's answer is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.door import amend
from lifecycle.evidence import unjudged
from lifecycle.fingerprints import in_force
from lifecycle.fitting import fits_its_digest
from lifecycle.gathering import evidence_ids
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Outcome, Proposal

#: The rules that ask what is on record as evidence.
BY_EVIDENCE: Final = frozenset({"preconditions_hold"})
_EVIDENCE_OBJECTS: Final = "+evidence"


def judged_as_it_stands(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Say whether policy and evidence are those by which it was judged last."""
    return (
        proposal.checked_policy_digest == moment.policy.digest
        and in_force(tx, moment)
        and not _names_unjudged(tx, proposal)
    )


def awaits_answer(proposal: Proposal) -> bool:
    """Say whether nobody knows yet what came of its last call: then nothing can be taken back."""
    execution = proposal.execution
    return execution is not None and execution.outcome in (Outcome.RUNNING, Outcome.UNKNOWN)


def policy_before(proposal: Proposal) -> str:
    """Return the digest of the policy under which it was last judged."""
    return (proposal.checked_policy_digest or "").removesuffix(_EVIDENCE_OBJECTS)


def is_owed(proposal: Proposal) -> bool:
    """Say whether evidence is still to be judged by, as soon as that can decide something."""
    return (proposal.checked_policy_digest or "").endswith(_EVIDENCE_OBJECTS)


def note_judged(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    details: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    """Note that it was judged again under the policy of this moment, and what follows."""
    return amend(
        tx,
        moment,
        proposal,
        "rechecked",
        SENTINEL,
        details=details,
        checked_policy_digest=moment.policy.digest,
        policy_digest=moment.policy.digest,
        **changes,
    )


def note_owed(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Note that evidence objects, or may, and cannot decide anything yet."""
    mark = policy_before(proposal) + _EVIDENCE_OBJECTS
    told = {"why": why}
    return amend(
        tx, moment, proposal, "check_owed", SENTINEL, details=told, checked_policy_digest=mark
    )


def note_paid(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Note that it was judged by its evidence, and stays as it is."""
    if not is_owed(proposal):
        return proposal
    before = policy_before(proposal)
    return amend(tx, moment, proposal, "check_paid", SENTINEL, checked_policy_digest=before)


def _names_unjudged(tx: Transaction, proposal: Proposal) -> bool:
    """Say whether it names a packet that was recorded and not yet judged by.

    What names none asks the store nothing; what was changed behind our back names nothing.
    """
    named = evidence_ids(proposal) if fits_its_digest(proposal) else frozenset()
    return bool(named) and not named.isdisjoint(unjudged(tx))
