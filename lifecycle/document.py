"""The document of a proposal is the wire form of seed 000, typed and frozen (design section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from lifecycle.policy import ActionType


class _Part(BaseModel):
    """Strict and closed: no coercion, no unknown field."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Target(_Part):
    """The resource that is acted upon."""

    resource_type: str
    resource_id: str
    domain: str
    constraints: dict[str, Any]


class Precondition(_Part):
    """What must be true in evidence; an absent `evidence_ref` is judged as V-PROP-013."""

    field: str
    operator: str
    value: Any
    evidence_ref: str = ""


class RiskEnvelope(_Part):
    """The side effects that the proposer allows."""

    allowed_side_effects: list[str]
    forbidden_effects: list[str]
    max_affected_records: int
    reversible_required: bool


class RollbackSemantics(_Part):
    """How the proposer expects the action to be taken back."""

    kind: str
    window_s: int | None = None


class TimeWindow(_Part):
    """When the action may begin, and how long it may run; all in milliseconds UTC."""

    valid_from_ms: int
    valid_until_ms: int
    max_duration_ms: int


class EvidenceBinding(_Part):
    """A reference to evidence that must be, or may be, on record."""

    evidence_id: str
    binding_type: str
    required: bool
    freshness_ms: int | None = None


class Binding(_Part):
    """The normaliser and policy that a plan was made under (seed 001)."""

    normalizerId: str  # noqa: N815 - seed 001 writes it so
    policyDigest: str  # noqa: N815 - seed 001 writes it so


class ProposalDocument(_Part):
    """What an agent wants done, as it was accepted.

    `approval_class` stays a string: an unknown one is V-PROP-014, judged with the meaning.
    """

    proposal_id: str
    ts_ms: int
    actor: str
    action_type: ActionType
    target: Target
    parameters: dict[str, Any]
    preconditions: list[Precondition] = []
    risk_envelope: RiskEnvelope | None = None
    rollback_semantics: RollbackSemantics | None = None
    time_window: TimeWindow | None = None
    approval_class: str | None = None
    evidence_bindings: list[EvidenceBinding] = []
    tool: str | None = None
    justification: str | None = None
    task_id: str | None = None
    evidence: str | None = None
    intent: str | None = None
    binding: Binding | None = None

    @classmethod
    def of_bytes(cls, canonical: bytes) -> ProposalDocument:
        """Read the stored canonical bytes; every reader gets a value of its own."""
        return cls.model_validate_json(canonical)

    def freshness_asked(self) -> Mapping[str, int]:
        """Return how old each piece of evidence may be at most, in ms, where a binding says so."""
        asked: dict[str, int] = {}
        for binding in self.evidence_bindings:
            ms, known = binding.freshness_ms, asked.get(binding.evidence_id)
            if ms is not None and (known is None or ms < known):
                asked[binding.evidence_id] = ms
        return asked
