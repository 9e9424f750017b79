"""Derive what a plan must satisfy, and whether it does; its content alone decides (seed 001)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.llm.digests import obligation_id
from lifecycle.llm.normalizer import Normalizer
from lifecycle.llm.plan import Plan, PlanKind

_MODE: Final = "normalized"
_REFINEMENT: Final = (
    "adjoint_triple",
    "adjoint_triangle",
    "beck_chevalley_sigma",
    "beck_chevalley_pi",
    "refinement_invariance",
)
#: A refinement plan satisfies these by naming a hint among its candidates.
_BY_HINT: Final = frozenset(_REFINEMENT) - {"adjoint_triple"}
_NEVER_HOLDS: Final = frozenset({"ext_gap", "ext_ambiguous"})
#: The gate class that an obligation fails as.
FAILS_AS: Final[Mapping[str, str]] = {
    "stability": "stability_failure",
    "locality": "locality_failure",
    "descent_exists": "descent_failure",
    "ext_gap": "descent_failure",
    "ext_ambiguous": "glue_non_contractible",
    "adjoint_triple": "adjoint_triple_coherence_failure",
    "adjoint_triangle": "adjoint_triple_coherence_failure",
    "beck_chevalley_sigma": "adjoint_triple_coherence_failure",
    "beck_chevalley_pi": "adjoint_triple_coherence_failure",
    "refinement_invariance": "stability_failure",
}
#: The law of the gate that a class breaks.
LAW_OF: Final[Mapping[str, str]] = {
    "stability_failure": "GATE-3.1",
    "locality_failure": "GATE-3.2",
    "descent_failure": "GATE-3.3",
    "glue_non_contractible": "GATE-3.4",
    "adjoint_triple_coherence_failure": "GATE-3.5",
}


@dataclass(frozen=True, slots=True)
class Discharge:
    """Whether each obligation holds. `failure_classes` are sorted and distinct; none means
    accepted."""

    obligations: tuple[Mapping[str, Any], ...]
    steps: tuple[Mapping[str, Any], ...]
    failure_classes: tuple[str, ...]
    binding: Mapping[str, str]

    @property
    def accepted(self) -> bool:
        """True if every obligation holds."""
        return not self.failure_classes

    def as_json(self) -> dict[str, Any]:
        """Return the record of the discharge as a witness keeps it."""
        return {
            "mode": _MODE,
            "binding": dict(self.binding),
            "outcome": "accepted" if self.accepted else "rejected",
            "steps": [dict(step) for step in self.steps],
            "failureClasses": list(self.failure_classes),
        }


def discharge(plan: Plan, normalizer: Normalizer) -> Discharge:
    """Derive the obligations of `plan`, and return for each whether it holds."""
    obligations = tuple(_obligations(plan, normalizer))
    steps = tuple(_step(plan, obligation) for obligation in obligations)
    failed = {step["failureClass"] for step in steps if "failureClass" in step}
    return Discharge(obligations, steps, tuple(sorted(failed)), plan.binding)


def _obligations(plan: Plan, normalizer: Normalizer) -> Iterator[dict[str, Any]]:
    judged = plan.canonical["targetJudgment"]["kind"]
    for index, kind in enumerate(_kinds(plan)):
        core = {
            "kind": kind,
            "ctx": {"ref": plan.canonical["targetCtxRef"]},
            "subject": {"kind": judged, "ref": _subject(plan)},
            "details": {
                "proposalKind": plan.kind.value,
                "candidateCount": len(plan.candidate_refs),
                "stepCount": len(plan.steps),
                "obligationIndex": index,
            },
        }
        yield {"obligationId": obligation_id(core, normalizer)} | core


def _kinds(plan: Plan) -> Sequence[str]:
    reached = bool(plan.candidate_refs) or any(step["outputs"] for step in plan.steps)
    kinds = ["stability", "locality", "descent_exists" if reached else "ext_gap"]
    if plan.kind is PlanKind.VALUE and len(plan.candidate_refs) > 1:
        kinds.append("ext_ambiguous")
    if plan.kind is PlanKind.REFINEMENT:
        kinds.extend(_REFINEMENT)
    return kinds


def _subject(plan: Plan) -> str:
    """Return what the plan is about: a candidate, else the last step's output, else the goal."""
    if plan.candidate_refs:
        return plan.candidate_refs[0]
    for step in reversed(plan.steps):
        if step["outputs"]:
            return str(step["outputs"][0])
    return f"{plan.canonical['targetCtxRef']}#{plan.canonical['targetJudgment']['kind']}"


def _step(plan: Plan, obligation: Mapping[str, Any]) -> dict[str, Any]:
    kind = obligation["kind"]
    hint = f"hint:{kind}" if kind in _BY_HINT else None
    missing = hint is not None and hint not in plan.candidate_refs
    step = {
        "obligationId": obligation["obligationId"],
        "kind": kind,
        "status": "failed" if missing or kind in _NEVER_HOLDS else "passed",
        "mode": _MODE,
        "binding": dict(plan.binding),
    }
    if step["status"] == "failed":
        step |= {"failureClass": FAILS_AS[kind], "lawRef": LAW_OF[FAILS_AS[kind]]}
    return step | ({"missingHint": hint} if missing else {})
