"""Compute `policyDigest`: one policy has one digest, however its file is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Final

from lifecycle.canonical import policy_digest
from lifecycle.policy import Policy, RuleSettings

#: The fields of a proposer that decide what it may ask for, and who may answer.
_OF_PROPOSERS: Final = ("owner", "roles", "attributes", "open_limit")


def digest_of_policy(
    policy: Policy, rules: Mapping[str, RuleSettings], versions: Mapping[str, int]
) -> str:
    """Return the digest over all that decides: defaults filled in, no secret (section 5, ADR 0015).

    `rules` are the settings as they were written, `versions` the loaded rules' versions by id. The
    config has names of environment variables, never their values, so that no secret can be part of
    it.
    """
    return policy_digest(
        {
            "tools": {name: _plain(tool) for name, tool in policy.tools.items()},
            "sentinel": {name: _plain(rule) for name, rule in rules.items()},
            "auto_approval": {
                "by": policy.orchestrator,
                "tiers": sorted(policy.auto_approval_tiers),
            },
            "limits": _plain(policy.limits),
            "people": {name: sorted(person.groups) for name, person in policy.people.items()},
            "proposers": {
                name: {field: _plain(getattr(each, field, None)) for field in _OF_PROPOSERS}
                for name, each in (*policy.people.items(), *policy.agents.items())
            },
            "sources": sorted(policy.sources),
            "solo_operator": policy.solo_operator,
            "rules": dict(versions),
        }
    )


def _plain(value: Any) -> Any:
    """Return a value of the policy as JSON; sets become sorted lists."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (frozenset, set)):
        return sorted(map(_plain, value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value
