"""Read a plan: the order of checks, trimming, and the canonical form (seed 001, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lifecycle.errors import Fault, Refused
from lifecycle.llm.digests import kcir_ref, proposal_digest
from lifecycle.llm.normalizer import Terms

_JUDGMENT_KINDS: Final = ("obj", "mor")
_ROOT: Final = "proposal"
_ABSENT: Final[list[Any]] = []


class PlanKind(StrEnum):
    """The three kinds of plan."""

    VALUE = "value"
    DERIVATION = "derivation"
    REFINEMENT = "refinementPlan"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan in canonical form. `canonical` is what `digest` and `kcir` are digests of."""

    kind: PlanKind
    canonical: Mapping[str, Any]
    digest: str
    kcir: str

    @property
    def candidate_refs(self) -> tuple[str, ...]:
        """The candidates it names, sorted, each once."""
        return tuple(self.canonical["candidateRefs"])

    @property
    def steps(self) -> tuple[Mapping[str, Any], ...]:
        """The steps of a derivation, in their order."""
        return tuple(self.canonical.get("steps", ()))

    @property
    def binding(self) -> Mapping[str, str]:
        """The normaliser and the policy under which it was made."""
        return dict(self.canonical["binding"])


def read_plan(raw: Any, terms: Terms) -> Plan:
    """Return the plan in `raw`; raise Refused with the class of the first failing check."""
    canonical = _canonical(raw, terms)
    digest = proposal_digest(canonical, terms.normalizer)
    kcir = kcir_ref(canonical, terms.normalizer)
    _declared(raw, "proposalDigest", digest, "proposal_nondeterministic")
    _declared(raw, "proposalKcirRef", kcir, "proposal_kcir_ref_mismatch")
    return Plan(PlanKind(canonical["proposalKind"]), canonical, digest, kcir)


def _canonical(raw: Any, terms: Terms) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise _refused("proposal_invalid_shape", _ROOT, "an object")
    kind = _kind(raw)
    target = _text(raw.get("targetCtxRef"), f"{_ROOT}.targetCtxRef", "proposal_invalid_target")
    judgment = _judgment(raw.get("targetJudgment"))
    binding = _binding(raw.get("binding"))
    candidates = _candidates(raw, terms)
    steps = _steps(raw, kind, terms)
    canonical = {
        "proposalKind": kind.value,
        "targetCtxRef": target,
        "targetJudgment": judgment,
        "candidateRefs": candidates,
        "binding": binding,
    }
    return canonical | ({"steps": steps} if steps else {})


def _kind(raw: Mapping[str, Any]) -> PlanKind:
    path = f"{_ROOT}.proposalKind"
    word = _text(raw.get("proposalKind"), path, "proposal_invalid_kind")
    if word not in set(PlanKind):
        raise _refused("proposal_invalid_kind", path, "one of " + ", ".join(PlanKind))
    return PlanKind(word)


def _judgment(judgment: Any) -> dict[str, str]:
    path, code = f"{_ROOT}.targetJudgment", "proposal_invalid_target_judgment"
    if not isinstance(judgment, Mapping):
        raise _refused(code, path, "an object")
    kind = judgment.get("kind")
    if not isinstance(kind, str) or kind not in _JUDGMENT_KINDS:
        raise _refused(code, f"{path}.kind", "obj or mor")
    return {"kind": kind, "shape": _text(judgment.get("shape"), f"{path}.shape", code)}


def _binding(binding: Any) -> dict[str, str]:
    path, code = f"{_ROOT}.binding", "proposal_unbound_policy"
    if not isinstance(binding, Mapping):
        raise _refused(code, path, "an object with normalizerId and policyDigest")
    return {
        half: _text(binding.get(half), f"{path}.{half}", code)
        for half in ("normalizerId", "policyDigest")
    }


def _candidates(raw: Mapping[str, Any], terms: Terms) -> list[str]:
    path = f"{_ROOT}.candidateRefs"
    refs = _refs(raw.get("candidateRefs", _ABSENT), path, None)
    distinct = sorted(set(refs))
    _bounded(distinct, terms.most_candidates, path)
    return distinct


def _steps(raw: Mapping[str, Any], kind: PlanKind, terms: Terms) -> list[dict[str, Any]]:
    path = f"{_ROOT}.steps"
    steps = raw.get("steps", _ABSENT)
    if not isinstance(steps, list):
        raise _refused("proposal_invalid_step", path, "a list")
    if kind is PlanKind.DERIVATION and not steps:
        raise _refused("proposal_invalid_step", path, "at least one step in a derivation")
    if kind is not PlanKind.DERIVATION and steps:
        raise _refused("proposal_invalid_step", path, "no steps: only a derivation has them")
    _bounded(steps, terms.most_steps, path)
    return [_step(step, f"{path}[{index}]", terms) for index, step in enumerate(steps)]


def _step(step: Any, path: str, terms: Terms) -> dict[str, Any]:
    code = "proposal_invalid_step"
    if not isinstance(step, Mapping):
        raise _refused(code, path, "an object")
    rule = _text(step.get("ruleId"), f"{path}.ruleId", code)
    claim = _text(step.get("claim"), f"{path}.claim", code)
    inputs = _refs(step.get("inputs", _ABSENT), f"{path}.inputs", terms.most_refs)
    outputs = _refs(step.get("outputs", _ABSENT), f"{path}.outputs", terms.most_refs)
    return {"ruleId": rule, "inputs": inputs, "outputs": outputs, "claim": claim}


def _refs(refs: Any, path: str, most: int | None) -> list[str]:
    if not isinstance(refs, list):
        raise _refused("proposal_invalid_step", path, "a list")
    _bounded(refs, most, path)
    return list(_texts(refs, path))


def _texts(items: list[Any], path: str) -> Iterator[str]:
    for index, item in enumerate(items):
        yield _text(item, f"{path}[{index}]", "proposal_invalid_step")


def _bounded(items: list[Any], most: int | None, path: str) -> None:
    if most is not None and len(items) > most:
        raise _refused("proposal_invalid_step", path, f"at most {most}", f"{len(items)}")


def _declared(raw: Mapping[str, Any], key: str, computed: str, code: str) -> None:
    """Raise Refused if the plan declares another digest than its content has."""
    if key in raw and _text(raw[key], f"{_ROOT}.{key}", code) != computed:
        raise _refused(code, f"{_ROOT}.{key}", computed, "another digest")


def _text(value: Any, path: str, code: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(code, path, "a string that is not empty")
    return value.strip()


def _refused(code: str, path: str, required: str, actual: str | None = None) -> Refused:
    remedy = f"Write {required} at {path}; nothing of a plan is repaired."
    return Refused([Fault(code, path, required=required, actual=actual, suggestion=remedy)])
