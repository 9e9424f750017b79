"""Build the witness of a plan, accepted or not: enough to audit it without running it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.canonical import canonical_bytes
from lifecycle.errors import Refused
from lifecycle.llm.digests import instruction_digest, witness_id
from lifecycle.llm.envelope import Envelope
from lifecycle.llm.obligations import LAW_OF, Discharge
from lifecycle.llm.plan import Plan
from lifecycle.llm.routing import Classification, Decision, Unknown
from lifecycle.text.masking import mask_secrets, mask_text, recorded_words

PROVENANCE: Final = "llm_proposed"
_KIND: Final = "signoff.instruction.v1"
_INGEST_LAW: Final = "LLM-PROPOSAL-CHECKING"
#: So large may the witness of a refused envelope be in the trail, in bytes: five times an ordinary.
_MOST_KEPT: Final = 8_192
_LONGEST_PLACE: Final = 200
_ALWAYS_KEPT: Final = (
    *("schema", "witnessKind", "witnessId", "provenance", "class", "lawRef", "context"),
    *("instructionDigest", "instructionClassification", "rejectStage", "verdictClass"),
    *("operationalFailureClasses", "semanticFailureClasses", "failureClasses"),
)
_NO_INTENT: Final = "(invalid envelope)"


def accept_or_reject(
    raw: Mapping[str, Any],
    envelope: Envelope,
    classification: Classification,
    discharged: Discharge,
    decision: Decision,
) -> dict[str, Any]:
    """Return the witness of an envelope that could be read."""
    failures = decision.failure_classes
    ingest = _ingest_of(envelope.plan, discharged) if envelope.plan else None
    return _identified(
        {
            "instructionDigest": instruction_digest(raw),
            "instructionClassification": classification.as_json(),
            "typingPolicy": {"allowUnknown": envelope.allow_unknown},
            "intent": envelope.intent,
            "scope": envelope.scope,
            "normalizerId": envelope.normalizer_id,
            "policyDigest": envelope.policy_digest,
            "capabilityClaims": list(envelope.capability_claims),
            "requiredChecks": list(envelope.requested_checks),
            **decision.as_json(),
            **({"proposalIngest": ingest} if ingest else {}),
        },
        failures[0] if failures else "accepted",
        "proposal",
    )


def of_unreadable(raw: Mapping[str, Any], error: Refused) -> dict[str, Any]:
    """Return the witness of an envelope that was refused before anything was decided."""
    intent = raw.get("intent")
    readable = isinstance(intent, str) and bool(intent.strip())
    return _identified(
        {
            "instructionDigest": instruction_digest(raw),
            "instructionClassification": Unknown("pre_execution_invalid").as_json(),
            "intent": intent if readable else _NO_INTENT,
            **Decision(operational=(error.code,)).as_json(),
            "rejectStage": "pre_execution",
            "rejectReason": str(error),
        },
        error.code,
        error.faults[0].path,
    )


def kept_in_trail(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the witness of a refused envelope as the trail keeps it for good.

    Nobody can remove anything from the trail, and no rate holds up what is refused. So of a witness
    that is too large only its id, what decides it, and the beginning of the place are kept.
    """
    bytes_of_it = len(canonical_bytes(record))
    if bytes_of_it <= _MOST_KEPT:
        return dict(record)
    kept = {key: record[key] for key in _ALWAYS_KEPT if key in record}
    place = recorded_words(str(record["tokenPath"]), _LONGEST_PLACE)
    return kept | {"tokenPath": place, "leftOut": {"bytes": bytes_of_it}}


def _ingest_of(plan: Plan, discharged: Discharge) -> dict[str, Any]:
    """Return what a witness says of the plan itself."""
    return {
        "state": "typed",
        "kind": f"proposal.{plan.kind.value}",
        "proposalDigest": plan.digest,
        "proposalKcirRef": plan.kcir,
        "binding": dict(plan.binding),
        "targetCtxRef": plan.canonical["targetCtxRef"],
        "targetJudgment": dict(plan.canonical["targetJudgment"]),
        "obligations": [dict(each) for each in discharged.obligations],
        "discharge": discharged.as_json(),
    }


def _identified(content: dict[str, Any], failure: str, place: str) -> dict[str, Any]:
    """Return the witness with its id. It is kept in the trail for ever, so that it holds no
    credential; its id is that of the place as it was sent."""
    key = {
        "class": failure,
        "lawRef": LAW_OF.get(failure, _INGEST_LAW),
        "tokenPath": place,
        "context": {"instructionDigest": content["instructionDigest"]},
    }
    head = {"schema": 1, "witnessKind": _KIND, "witnessId": witness_id(key)}
    shown = key | {"tokenPath": mask_text(place)}
    return {**head, "provenance": PROVENANCE, **shown, **mask_secrets(content)}
