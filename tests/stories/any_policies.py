"""Policies that may come in the middle of anything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lifecycle.policy import ApprovalClass, Level, Policy
from lifecycle.tier import Tier

_OF_A_TOOL: Mapping[str, Mapping[str, Any]] = {
    "blocked": {"tier": Tier.BLOCK},
    "asks more": {"tier": Tier.CONFIRM},
    "dual": {"quorum_class": ApprovalClass.DUAL},
    "three": {"quorum_class": ApprovalClass.THRESHOLD, "quorum_required": 3},
    "operators": {"reviewers": "operators"},
    "longer": {"window_s": 1_800},
}


def some_changes(chance: random.Random, base: Policy) -> Iterator[tuple[str, Any]]:
    """Yield fields of another policy: how hard evidence is, and one thing more."""
    level = chance.choice((Level.HARD, Level.HARD, Level.SOFT, Level.ADVISORY))
    rule = replace(base.rules["preconditions_hold"], level=level)
    yield "rules", {**base.rules, "preconditions_hold": rule}
    name, who = chance.choice(sorted(base.tools)), chance.choice(("ana", "ben", "dee"))
    what = chance.choice(("nothing", "gone", "orchestrated", "leaves", *_OF_A_TOOL))
    if what in _OF_A_TOOL:
        yield "tools", {**base.tools, name: replace(base.tools[name], **_OF_A_TOOL[what])}
    elif what == "gone":
        yield "tools", {key: tool for key, tool in base.tools.items() if key != name}
    elif what == "orchestrated":
        yield "orchestrator", "nour"
        yield "auto_approval_tiers", frozenset({Tier.PROPOSE})
    elif what == "leaves":
        left = base.people[who].groups - {"approvers"}
        yield "people", {**base.people, who: replace(base.people[who], groups=left)}
