"""`policyDigest`: the same policy has the same digest, however its file is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from lifecycle.canonical import policy_digest
from lifecycle.policy import Limits, Person, RuleSettings, ToolPolicy
from lifecycle.tier import Tier


def digest_of_policy(
    tools: Mapping[str, ToolPolicy],
    rules: Mapping[str, RuleSettings],
    people: Mapping[str, Person],
    limits: Limits,
    auto_approval: tuple[str | None, Iterable[Tier]],
    versions: Mapping[str, int],
) -> str:
    """Return the digest over what decides (design section 5): defaults filled in, no secret.

    `versions` are the loaded rules' versions by id. The config holds names of environment
    variables, never what stands in them, so nothing secret can be part of it.
    """
    by, tiers = auto_approval
    return policy_digest(
        {
            "tools": {name: _plain(tool) for name, tool in tools.items()},
            "sentinel": {name: _plain(rule) for name, rule in rules.items()},
            "auto_approval": {"by": by, "tiers": sorted(tiers)},
            "limits": _plain(limits),
            "people": {name: sorted(person.groups) for name, person in people.items()},
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
