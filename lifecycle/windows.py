"""Rules how long a call can be taken back, and what a proposal may say about it (section 3)."""

from __future__ import annotations

from typing import Any, Final, assert_never

from lifecycle.document import RollbackSemantics, TimeWindow
from lifecycle.errors import Fault
from lifecycle.policy import ToolPolicy
from lifecycle.proposal import Proposal
from lifecycle.tier import TIER_POLICIES, Tier

#: What `rollback_semantics.kind` may say.
DEFERRED: Final = "deferred"
COMPENSATED: Final = "compensated"
NONE: Final = "none"
#: A failed closing is tried again within this time.
CLOSED_AGAIN_MS: Final = 60_000


def window_of(tool: ToolPolicy, tier: Tier) -> int:
    """Return the rollback window in seconds that `tool` has at `tier`; 0 means none.

    A raised tier never shortens it: a PROPOSE tool that became CONFIRM keeps its window.
    """
    match tier:
        case Tier.AUTO | Tier.AUTO_PLUS | Tier.BLOCK:
            return 0
        case Tier.PROPOSE:
            return tool.window_s or TIER_POLICIES[Tier.PROPOSE].window_s
        case Tier.CONFIRM:
            kept = TIER_POLICIES[tool.tier].window_s
            return tool.window_s or kept
        case _:
            assert_never(tier)


def closing_place(proposal: Proposal) -> tuple[int, str]:
    """Return the place of a proposal among the windows that close: from when on it can (ms UTC),
    and its id.

    It can once its window has passed and the back-off of a failed closing is over.
    """
    execution = proposal.execution
    closes_at_ms = execution.window_closes_at_ms if execution is not None else None
    return max(closes_at_ms or 0, proposal.retry_at_ms or 0), proposal.proposal_id


def call_limit_ms(timeout_s: int, window: TimeWindow | None) -> int:
    """Return how long a call may take, in ms: the tool's limit, or the document's if shorter."""
    asked_ms = window.max_duration_ms if window is not None else 0
    return min(timeout_s * 1000, asked_ms) if asked_ms > 0 else timeout_s * 1000


def defers(tool: ToolPolicy | None) -> bool:
    """Return whether a tool stages first and commits later; True if the tool is gone."""
    return tool is None or tool.deferred


def window_asked(tool: ToolPolicy, tier: Tier, asked: RollbackSemantics | None) -> int:
    """Return the window in seconds that counts for a proposal: it may ask for a longer one."""
    window_s = window_of(tool, tier)
    if not window_s or asked is None or asked.kind == NONE:
        return window_s
    return max(window_s, asked.window_s or 0)


def rollback_fault(tool: ToolPolicy, asked: Any) -> Fault | None:
    """Return `rollback_not_available` if a proposal expects what its tool cannot do, else None.

    `asked` is the raw `rollback_semantics`; a wrong type in it is not this rule's concern.
    """
    kind = asked.get("kind") if isinstance(asked, dict) else None
    if not isinstance(kind, str) or kind in _kinds(tool):
        return None
    return Fault(
        "rollback_not_available",
        "rollback_semantics.kind",
        required="one of " + ", ".join(_kinds(tool)),
        actual="a kind that this tool cannot do",
        suggestion=f"{tool.name} can do {', '.join(_kinds(tool))}: name that, or leave "
        "rollback_semantics out.",
    )


def _kinds(tool: ToolPolicy) -> tuple[str, ...]:
    if tool.deferred:
        return (DEFERRED, NONE)
    return (COMPENSATED, NONE) if tool.reversible else (NONE,)
