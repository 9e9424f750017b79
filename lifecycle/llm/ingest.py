"""Take in a plan at the bot's door: it yields one kernel Proposal, or a question (section 9)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.errors import Fault, Refused
from lifecycle.llm import witness
from lifecycle.llm.envelope import PLAN_KEYS, Envelope, read_envelope, refused
from lifecycle.llm.normalizer import MOST_CANDIDATES, Terms
from lifecycle.llm.obligations import Discharge, discharge
from lifecycle.llm.plan import Plan, PlanKind
from lifecycle.llm.routing import UNROUTABLE, Decision, classify, decide
from lifecycle.nearest import meant
from lifecycle.paths import dotted

_HINT: Final = "hint:"
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")
_FIELDS: Final = frozenset(
    {
        *("schema", "intent", "scope", "normalizerId", "policyDigest", "requestedChecks"),
        *("instructionType", "typingPolicy", "capabilityClaims", "candidates", *PLAN_KEYS),
    }
)


class EnvelopeRefused(Refused):
    """The envelope was refused; `witness` records that for the trail."""

    def __init__(self, refused_as: Refused, record: Mapping[str, Any]) -> None:
        """Keep the faults of the refusal and its witness."""
        super().__init__(refused_as.faults)
        self.witness = record


@dataclass(frozen=True, slots=True)
class Chosen:
    """The one candidate that a plan yields; it is submitted like any other Proposal."""

    fields: Mapping[str, Any]
    key: str
    plan: Mapping[str, Any]
    witness: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A refinement plan: it is put to people and never executed."""

    intent: str
    scope: Any
    plan: Mapping[str, Any]
    digest: str
    witness: Mapping[str, Any]


def place_of(key: str) -> str:
    """Return the path of the candidate under this key: a digest stands in it as it is, a key that
    is long or unusual as in every path."""
    return f"candidates.{key}" if _DIGEST.fullmatch(key) else dotted(("candidates", key))


def ingest(raw: Mapping[str, Any], terms: Terms) -> Chosen | Question:
    """Return what an envelope asks for; raise EnvelopeRefused, whose witness says why not."""
    refusal: Refused
    try:
        envelope = _known_fields(raw, terms)
        return _decided(raw, envelope, terms)
    except EnvelopeRefused as error:
        refusal, record = error, error.witness
    except Refused as error:
        refusal, record = error, witness.of_unreadable(raw, error)
    raise EnvelopeRefused(_as_sent(refusal, raw), record)


def _as_sent(error: Refused, raw: Mapping[str, Any]) -> Refused:
    """Return the refusal with the plan under the name that its sender has for it."""
    ours, theirs = PLAN_KEYS
    if ours in raw or theirs not in raw or error.code == "unknown_field":
        return error
    return Refused([_renamed(fault, ours, theirs) for fault in error.faults])


def _renamed(fault: Fault, ours: str, theirs: str) -> Fault:
    if fault.path != ours and not fault.path.startswith(f"{ours}."):
        return fault
    path = theirs + fault.path[len(ours) :]
    words = fault.suggestion and fault.suggestion.replace(f" at {fault.path}", f" at {path}")
    return replace(fault, path=path, suggestion=words)


def _known_fields(raw: Mapping[str, Any], terms: Terms) -> Envelope:
    strange = sorted(raw.keys() - _FIELDS)[:8]
    if strange:
        raise Refused([_strange(key) for key in strange])
    return read_envelope(raw, terms)


def _strange(key: str) -> Fault:
    return Fault(
        "unknown_field",
        key,
        required="one of " + ", ".join(sorted(_FIELDS)),
        suggestion=f"Remove this field from the envelope.{meant(key, _FIELDS)}",
    )


def _decided(raw: Mapping[str, Any], envelope: Envelope, terms: Terms) -> Chosen | Question:
    plan = envelope.plan
    if plan is None:
        raise refused("proposal_invalid_shape", "proposal", "a plan")
    candidates = _candidates(raw, plan)
    found = discharge(plan, terms.normalizer)
    classification = classify(plan, envelope.instruction_type)
    # Not what the envelope allows itself: this intake has no route for the unknown.
    decision = decide(classification, found, allow_unknown=False)
    record = witness.accept_or_reject(raw, envelope, classification, found, decision)
    if not decision.accepted:
        raise EnvelopeRefused(_undischarged(found, decision), record)
    shown = {"kind": plan.kind.value, "intent": envelope.intent, "steps": list(plan.steps)}
    if plan.kind is PlanKind.REFINEMENT:
        return Question(envelope.intent, envelope.scope, shown | _aim(plan), plan.digest, record)
    digest = _yielded(plan, candidates)
    return Chosen(candidates[digest].fields, candidates[digest].key, shown | _aim(plan), record)


def _aim(plan: Plan) -> dict[str, Any]:
    return {
        "target": plan.canonical["targetCtxRef"],
        "judgment": dict(plan.canonical["targetJudgment"]),
        "digest": plan.digest,
    }


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: str
    fields: Mapping[str, Any]


def _candidates(raw: Mapping[str, Any], plan: Plan) -> dict[str, _Candidate]:
    """Return the candidates by their digest. Raises Refused if the plan refers to another one."""
    sent = raw.get("candidates")
    sent = {} if sent is None else sent
    if not isinstance(sent, Mapping) or len(sent) > MOST_CANDIDATES:
        raise refused(
            "proposal_invalid_step", "candidates", f"an object of at most {MOST_CANDIDATES}"
        )
    found: dict[str, _Candidate] = {}
    for key, fields in sent.items():
        if not isinstance(fields, Mapping):
            raise refused("proposal_invalid_step", place_of(str(key)), "a Proposal")
        found[_digest(fields, key)] = _Candidate(str(key), fields)
    astray = {ref for ref in plan.candidate_refs if not _is_known(ref, plan, found)}
    if astray:
        raise Refused(islice(_unknown_refs(raw, astray, found), MOST_CANDIDATES))
    return found


def _is_known(ref: str, plan: Plan, found: Mapping[str, _Candidate]) -> bool:
    return ref in found or (plan.kind is PlanKind.REFINEMENT and ref.startswith(_HINT))


def _unknown_refs(
    raw: Mapping[str, Any], astray: Collection[str], found: Mapping[str, _Candidate]
) -> Iterator[Fault]:
    """Yield a fault for each reference that is none, in its place as it was sent.

    A language model cannot compute a digest: it is told that of the candidate which it names, or of
    each.
    """
    plan = next(raw[key] for key in PLAN_KEYS if key in raw)
    by_key = {candidate.key: digest for digest, candidate in found.items()}
    for index, ref in enumerate(plan["candidateRefs"]):
        if ref.strip() in astray:
            named = by_key.get(ref.strip())
            required = named or f"the digest of a Proposal in candidates{_one_of(found)}"
            path = f"proposal.candidateRefs[{index}]"
            yield from refused("proposal_invalid_step", path, required).faults


def _one_of(digests: Collection[str]) -> str:
    return f", one of {', '.join(digests)}" if digests else ""


def _digest(fields: Mapping[str, Any], key: Any) -> str:
    try:
        return digest_of(canonical_bytes(fields))
    except ValueError:
        required = "values that JSON can carry exactly"
        raise refused("proposal_invalid_step", place_of(str(key)), required) from None


def _yielded(plan: Plan, candidates: Mapping[str, _Candidate]) -> str:
    """Return the digest of the one candidate that the plan yields."""
    if plan.kind is PlanKind.VALUE:
        return plan.candidate_refs[0]
    last = [ref for ref in dict.fromkeys(plan.steps[-1]["outputs"]) if ref in candidates]
    if len(last) != 1 or (plan.candidate_refs and last[0] not in plan.candidate_refs):
        raise refused(
            "proposal_invalid_step",
            f"proposal.steps[{len(plan.steps) - 1}].outputs",
            f"the digest of exactly one candidate{_one_of(plan.candidate_refs or candidates)}",
        )
    return str(last[0])


def _undischarged(found: Discharge, decision: Decision) -> Refused:
    if UNROUTABLE in decision.operational:
        return Refused(
            [
                Fault(
                    UNROUTABLE,
                    "instructionType",
                    required="the kind of the plan, or no instructionType",
                    suggestion="Leave instructionType out; what is not classified is not done.",
                )
            ]
        )
    failed = [step for step in found.steps if step["status"] == "failed"]
    failed.sort(key=lambda step: str(step["failureClass"]))
    faults = [
        Fault(
            step["failureClass"],
            "proposal",
            required=f"the obligation {step['kind']} ({step['lawRef']})",
            actual=f"missing {step['missingHint']}" if "missingHint" in step else "not met",
            suggestion=_remedy(step),
        )
        for step in failed
    ]
    return Refused([*faults, Fault("proposal_discharge_failed", "proposal")])


def _remedy(step: Mapping[str, Any]) -> str:
    """Return what makes the plan good: most obligations ask for a hint by name."""
    if "missingHint" in step:
        return f"Add {step['missingHint']} to candidateRefs."
    return _REMEDIES.get(step["failureClass"], "Make the plan good and send it anew.")


_REMEDIES: Final = {
    "descent_failure": "Name one candidate: nothing in this plan can be carried out.",
    "glue_non_contractible": "Name exactly one candidate: nobody chooses between several.",
}
