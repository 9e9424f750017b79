"""Frame a receipt for an agent: the firewall's view, with as many rows as it may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.authority import granted_rows
from lifecycle.calls.calling import LEFT_OUT, CallResult
from lifecycle.calls.firewall import Budget, frame_of, framed
from lifecycle.calls.quoting import secrets_of
from lifecycle.policy import Policy
from lifecycle.proposal import Proposal
from lifecycle.proposers import configured
from lifecycle.text.quoted_secrets import mask_quoted

_USUAL = Budget()


def frame_for(policy: Policy, proposal: Proposal, result: CallResult) -> Mapping[str, Any]:
    """Return the frame of a receipt; `target.constraints.max_rows` bounds its lists further.

    The firewall's own bound holds whatever a role would be granted (section 7). Of a receipt that
    is too large to be kept the agent is shown as much as of any other; its handle is still the
    digest of the whole. Credentials that the tool was given or handed and repeats are
    masked.
    """
    budget, receipt = _budget(policy, proposal), result.receipt
    given = (*result.handed, *secrets_of(proposal))
    if result.whole is None or receipt is None:
        return frame_of(receipt, budget, given)
    left_out = receipt[LEFT_OUT]
    frame = framed(mask_quoted(result.whole, given), left_out["digest"], budget)
    words = f"The whole has {left_out['bytes']} bytes and is kept nowhere."
    return replace(frame, warnings=(*frame.warnings, words)).as_json()


def _budget(policy: Policy, proposal: Proposal) -> Budget:
    proposer = configured(policy, proposal.actor)
    if proposer is None or proposal.masked:
        return _USUAL
    try:
        rows = granted_rows(proposer, proposal.read())
    except ValueError:
        return _USUAL  # somebody changed the row, which is dealt with elsewhere
    return _USUAL if rows is None or rows >= _USUAL.rows else Budget(rows=rows)
