"""Checks that a proposal is bound to this normaliser and to the policy in force (section 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifecycle.errors import Fault

#: How Signoff brings a document into its canonical form (RFC 8785).
NORMALIZER: Final = "signoff.jcs.v1"
_REMEDY: Final = "Read the policy in force, judge the plan anew, and bind it to that."


def binding_faults(fields: Mapping[str, Any], policy_digest: str) -> Iterator[Fault]:
    """Yield `proposal_unbound_policy` for an empty half, `proposal_binding_mismatch` for another
    value.

    An absent binding binds nothing. A half that is absent, or no text, is a fault of types, which
    others report.
    """
    binding = fields.get("binding")
    if not isinstance(binding, dict):
        return
    halves = (("normalizerId", NORMALIZER), ("policyDigest", policy_digest))
    for key, required in halves:
        value = binding.get(key)
        if not isinstance(value, str) or value.strip() == required:
            continue
        if not value.strip():
            yield unbound(f"binding.{key}", "empty")
            continue
        yield Fault(
            "proposal_binding_mismatch",
            f"binding.{key}",
            required=required,
            actual="another value",
            suggestion=_REMEDY,
        )


def unbound(path: str, actual: str) -> Fault:
    """Return the fault for a binding that does not say what it binds to; plans use it too."""
    return Fault(
        "proposal_unbound_policy",
        path,
        required="the normalizerId and policyDigest that it was made under",
        actual=actual,
        suggestion=_REMEDY,
    )
