"""Read an instruction envelope, which surrounds a plan, by checks in a fixed order (seed 001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.errors import Fault, Refused
from lifecycle.llm.normalizer import InstructionPolicy, PolicyRegistry, Terms
from lifecycle.llm.plan import Plan, read_plan
from lifecycle.text.masking import mask_text

PLAN_KEYS: Final = ("proposal", "llmProposal")
_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope that passed its checks. `plan` is None if it carries none."""

    intent: str
    scope: Any
    normalizer_id: str
    policy_digest: str
    requested_checks: tuple[str, ...]
    instruction_type: str | None
    allow_unknown: bool
    capability_claims: tuple[str, ...]
    plan: Plan | None


def read_envelope(raw: Any, terms: Terms) -> Envelope:
    """Return the envelope in `raw`; raise Refused with the class of the first failing check.

    In the envelope, blanks around a string are an error, while a plan's strings are trimmed.
    """
    if not isinstance(raw, Mapping):
        raise refused("instruction_envelope_invalid_shape", "", "an object")
    _schema(raw)
    intent = _exact(raw, "intent", "instruction_invalid_intent")
    normalizer_id = _exact(raw, "normalizerId", "instruction_invalid_normalizer")
    policy_digest = _exact(raw, "policyDigest", "instruction_invalid_policy_digest")
    scope = _scope(raw)
    checks = _names(raw.get("requestedChecks"), "requestedChecks", _CHECKS_INVALID, least=1)
    _allowed(_policy(terms.policies, policy_digest), checks, normalizer_id)
    return Envelope(
        intent=intent,
        scope=scope,
        normalizer_id=normalizer_id,
        policy_digest=policy_digest,
        requested_checks=checks,
        instruction_type=_instruction_type(raw),
        allow_unknown=_allow_unknown(raw),
        capability_claims=_claims(raw),
        plan=_plan(raw, normalizer_id, policy_digest, terms),
    )


_CHECKS_INVALID: Final = "instruction_requested_checks_invalid"
_CLAIMS_INVALID: Final = "instruction_capability_claims_invalid"


def plan_of(raw: Mapping[str, Any]) -> Any:
    """Return the plan as sent, None if there is none; both names at once are refused."""
    found = [key for key in PLAN_KEYS if key in raw]
    if len(found) > 1:
        raise refused("proposal_invalid_shape", "llmProposal", "only one of proposal, llmProposal")
    return raw[found[0]] if found else None


def _schema(raw: Mapping[str, Any]) -> None:
    schema = raw.get("schema")
    if isinstance(schema, bool) or schema != _SCHEMA:
        raise refused("instruction_invalid_schema", "schema", "the number 1")


def _exact(raw: Mapping[str, Any], key: str, code: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value.strip() or value != value.strip():
        raise refused(code, key, "a string that is neither empty nor padded with blanks")
    return value


def _scope(raw: Mapping[str, Any]) -> Any:
    scope = raw.get("scope")
    if scope is None:
        raise refused("instruction_scope_missing", "scope", "a text or an object")
    text = isinstance(scope, str) and bool(scope.strip())
    if not text and not (isinstance(scope, Mapping) and scope):
        raise refused("instruction_scope_invalid", "scope", "a text or an object with content")
    return scope


def _names(value: Any, path: str, code: str, *, least: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < least:
        raise refused(code, path, "a list of names" + (", at least one" if least else ""))
    names = [item.strip() if isinstance(item, str) else "" for item in value]
    if not all(names):
        raise refused(code, f"{path}[{names.index('')}]", "a name")
    if len(set(names)) < len(names):
        raise refused(code, path, "each name once")
    return tuple(names)


def _policy(policies: PolicyRegistry, digest: str) -> InstructionPolicy:
    policy = policies.get(digest)
    if policy is None:
        raise refused(
            "instruction_unknown_policy",
            "policyDigest",
            "the digest of a policy that is registered here: " + ", ".join(sorted(policies)),
        )
    return policy


def _allowed(policy: InstructionPolicy, checks: tuple[str, ...], normalizer_id: str) -> None:
    strange = [] if policy.checks is None else sorted(set(checks) - policy.checks)
    if strange:
        known = ", ".join(sorted(policy.checks or ()))
        raise refused("instruction_check_not_allowed", "requestedChecks", f"some of {known}")
    if normalizer_id not in policy.normalizers:
        known = ", ".join(sorted(policy.normalizers))
        raise refused("instruction_normalizer_not_allowed", "normalizerId", f"one of {known}")


def _instruction_type(raw: Mapping[str, Any]) -> str | None:
    value = raw.get("instructionType")
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise refused("instruction_instruction_type_invalid", "instructionType", "a name, or none")
    return value.strip()


def _allow_unknown(raw: Mapping[str, Any]) -> bool:
    policy = raw.get("typingPolicy", {})
    if not isinstance(policy, Mapping):
        raise refused("instruction_typing_policy_invalid", "typingPolicy", "an object")
    allow = policy.get("allowUnknown", False)
    if not isinstance(allow, bool):
        raise refused(
            "instruction_typing_policy_invalid", "typingPolicy.allowUnknown", "true or false"
        )
    return allow


def _claims(raw: Mapping[str, Any]) -> tuple[str, ...]:
    claims = raw.get("capabilityClaims", [])
    return tuple(sorted(_names(claims, "capabilityClaims", _CLAIMS_INVALID, least=0)))


def _plan(
    raw: Mapping[str, Any], normalizer_id: str, policy_digest: str, terms: Terms
) -> Plan | None:
    sent = plan_of(raw)
    if sent is None and not any(key in raw for key in PLAN_KEYS):
        return None
    plan = read_plan(sent, terms)
    bound = {"normalizerId": normalizer_id, "policyDigest": policy_digest}
    for half, required in bound.items():
        if plan.binding[half] != required:
            raise refused("proposal_binding_mismatch", f"proposal.binding.{half}", required)
    return plan


def refused(code: str, path: str, required: str) -> Refused:
    """Return a Refused with this one fault; a key that the sender made up may be a credential."""
    place = f"at {mask_text(path)}" if path else "as the envelope"
    remedy = f"Write {required} {place}."
    return Refused([Fault(code, path, required=required, suggestion=remedy)])
