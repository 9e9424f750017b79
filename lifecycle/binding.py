"""A proposal's binding: made under this normaliser and this policy, or refused (section 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifecycle.errors import Fault

#: How Signoff brings a document into its canonical form (RFC 8785).
NORMALIZER: Final = "signoff.jcs.v1"


def binding_faults(fields: Mapping[str, Any], policy_digest: str) -> Iterator[Fault]:
    """Yield `proposal_unbound_policy` for an empty half, `proposal_binding_mismatch` for another.

    An absent binding binds nothing; a half of the wrong type is already `wrong_type`.
    """
    binding = fields.get("binding")
    if not isinstance(binding, dict):
        return
    halves = (("normalizerId", NORMALIZER), ("policyDigest", policy_digest))
    for key, required in halves:
        value = binding.get(key)
        if isinstance(value, str) and value.strip() != required:
            code = "proposal_binding_mismatch" if value.strip() else "proposal_unbound_policy"
            yield Fault(
                code,
                f"binding.{key}",
                required=required,
                actual="another value" if value.strip() else "empty",
                suggestion="Read the policy in force, judge the plan anew, and bind it to that.",
            )
