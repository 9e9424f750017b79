"""What an agent is shown of a receipt: the firewall's frame, of as many rows as it may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lifecycle.authority import granted_rows
from lifecycle.calls.firewall import Budget, frame_of
from lifecycle.policy import Policy
from lifecycle.proposal import Proposal
from lifecycle.proposers import configured

_USUAL = Budget()


def frame_for(policy: Policy, proposal: Proposal, receipt: Any) -> Mapping[str, Any]:
    """Return the frame of a receipt: `target.constraints.max_rows` bounds its lists further.

    The firewall's own bound holds whatever a role would be granted (section 7).
    """
    return frame_of(receipt, _budget(policy, proposal))


def _budget(policy: Policy, proposal: Proposal) -> Budget:
    proposer = configured(policy, proposal.actor)
    if proposer is None or proposal.masked:
        return _USUAL
    try:
        rows = granted_rows(proposer, proposal.read())
    except ValueError:
        return _USUAL  # somebody wrote into the row; its end is told elsewhere
    return _USUAL if rows is None or rows >= _USUAL.rows else Budget(rows=rows)
