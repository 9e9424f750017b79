"""The legend's policy with raised limits: for bursts that are not about rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lifecycle.policy import Limits, Policy, Rate, Safety
from tests.builders import a_policy

_MANY = 100_000


def a_roomy_policy(**changes: Any) -> Policy:
    """Return the policy of the legend without a rate or an open limit that anybody could reach."""
    policy = a_policy(**changes)
    return replace(
        policy,
        tools={name: replace(tool, rate=Rate(_MANY, 60)) for name, tool in policy.tools.items()},
        agents={name: replace(agent, open_limit=_MANY) for name, agent in policy.agents.items()},
        limits=Limits(rate=dict.fromkeys(Safety, _MANY)),
    )
