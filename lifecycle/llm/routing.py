"""Classify an instruction as typed or unknown, and decide; the unknown is never executed (seed
001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lifecycle.llm.obligations import Discharge
from lifecycle.llm.plan import Plan

UNROUTABLE = "instruction_unknown_unroutable"


@dataclass(frozen=True, slots=True)
class Typed:
    """The route is known."""

    kind: str

    def as_json(self) -> dict[str, str]:
        """Return the classification as a witness keeps it."""
        return {"state": "typed", "kind": self.kind}


@dataclass(frozen=True, slots=True)
class Unknown:
    """The route is not known; `reason` says why."""

    reason: str

    def as_json(self) -> dict[str, str]:
        """Return the classification as a witness keeps it."""
        return {"state": "unknown", "reason": self.reason}


Classification = Typed | Unknown


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it may go on: only without failure classes, which are sorted and distinct."""

    operational: tuple[str, ...] = ()
    semantic: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """True if there are no failure classes."""
        return not (self.operational or self.semantic)

    @property
    def failure_classes(self) -> tuple[str, ...]:
        """All classes of both kinds, sorted, each once."""
        return tuple(sorted({*self.operational, *self.semantic}))

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as a witness keeps it."""
        return {
            "verdictClass": "accepted" if self.accepted else "rejected",
            "operationalFailureClasses": list(self.operational),
            "semanticFailureClasses": list(self.semantic),
            "failureClasses": list(self.failure_classes),
        }


def classify(plan: Plan, instruction_type: str | None) -> Classification:
    """Return the route of an instruction, by its plan; a type that contradicts it gives Unknown."""
    by_plan = f"proposal.{plan.kind.value}"
    if instruction_type in (None, by_plan):
        return Typed(by_plan)
    return Unknown("unsupported_instruction_type")


def decide(
    classification: Classification, discharged: Discharge | None, *, allow_unknown: bool
) -> Decision:
    """Return the decision: first whether the route is known, then whether the plan holds."""
    if isinstance(classification, Unknown) and not allow_unknown:
        return Decision(operational=(UNROUTABLE,))
    if discharged is not None and not discharged.accepted:
        return Decision(semantic=discharged.failure_classes)
    return Decision()
