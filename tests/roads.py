"""Roads of the product that tests take again and again: a reload, and a trail read to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lifecycle.audit import AuditEntry
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.workflow import Workflow

#: No test writes so many entries about one proposal.
_WHOLE = 1_000_000


async def adopted(
    workflow: Workflow, policy: Policy, sentinel: Sentinel, swap: Callable[[], None] = lambda: None
) -> None:
    """Put a policy in force as a reload does, and wait until what is open is judged by it."""
    await workflow.put_in_force(policy, sentinel, swap)
    await workflow.judge_open()


def trail_of(tx: Transaction, proposal_id: str) -> Sequence[AuditEntry]:
    """Return the trail of one proposal, oldest first: all pages of it as one."""
    return tx.audit.page_of(proposal_id, 0, _WHOLE)
