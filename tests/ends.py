"""Case M10: how a proposal can end, and what its card and `show` say of it, on every platform."""

from __future__ import annotations

from lifecycle.tier import Tier
from tests.builders import MAIL, a_policy

NOUR_OPENS = a_policy(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
WRONG = {"parameters": MAIL["parameters"] | {"body": "This is your final warning"}}


def ends_on(surface: str) -> dict[str, tuple[str, ...]]:
    """Return by end: the state, and what is said of whoever brought it about."""
    return {
        "approved by ana": (
            "completed",
            f'approved by person ana, 2026-03-02 12:03:00 UTC ({surface}): "looks right"',
            "completed (tool_succeeded) by tool production-deploy, 2026-03-02 12:03:00 UTC: ",
        ),
        "rejected by ben": (
            "rejected",
            f'rejected by person ben, 2026-03-02 12:03:00 UTC ({surface}): "wrong customer"',
            "rejected (rejected_by_person) by person ben, 2026-03-02 12:03:00 UTC: wrong customer",
        ),
        "rejected by Sentinel": (
            "rejected",
            "rejected (prohibited_content) by sentinel sentinel, 2026-03-02 12:00:00 UTC: "
            "This holds the prohibited phrase “final warning”",
        ),
        "expired": (
            "rejected",
            "rejected (expired) by clock clock, 2026-03-03 12:03:00 UTC: "
            "Expired at 2026-03-03 12:00:00 UTC; nothing was run.",
        ),
        "rolled back by ana": (
            "rolled_back",
            "opened by agent nour (auto-approval), 2026-03-02 12:03:00 UTC",
            f"roll back asked for by person ana, 2026-03-02 12:03:00 UTC ({surface}): "
            '"wrong amount"',
            "rolled_back (rolled_back_by_person) by person ana, 2026-03-02 12:03:00 UTC: "
            "wrong amount",
        ),
        "opened by nour": (
            "completed",
            "opened by agent nour (auto-approval), 2026-03-02 12:03:00 UTC",
            "completed (window_closed_unopposed) by clock clock, 2026-03-02 12:18:00 UTC: "
            "Nobody objected before the window closed.",
        ),
    }
