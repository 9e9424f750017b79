"""Define the canonical form of a plan, under a name that the plan is bound to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifecycle.binding import NORMALIZER
from lifecycle.canonical import canonical_bytes


@dataclass(frozen=True, slots=True)
class Normalizer:
    """A named way to write a JSON value as bytes; equal values give equal bytes."""

    id: str
    bytes_of: Callable[[Any], bytes] = canonical_bytes


@dataclass(frozen=True, slots=True)
class InstructionPolicy:
    """What an instruction under one policy may name; None allows any."""

    normalizers: frozenset[str]
    checks: frozenset[str] | None = None


#: Policies by their digest: an instruction names the one it was made under.
PolicyRegistry = Mapping[str, InstructionPolicy]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms for checking a plan; `most_*` bound what is checked (None: unbounded)."""

    normalizer: Normalizer
    policies: PolicyRegistry = field(default_factory=dict)
    most_steps: int | None = None
    most_refs: int | None = None
    most_candidates: int | None = None


#: The bounds at the bot's intake (design section 9).
MOST_STEPS = 64
MOST_REFS = 64
MOST_CANDIDATES = 16


def our_terms(policy_digest: str, checks: frozenset[str]) -> Terms:
    """Return the terms of the bot's intake: its own normaliser, its current policy, its bounds."""
    allowed = InstructionPolicy(frozenset({NORMALIZER}), checks)
    return Terms(
        Normalizer(NORMALIZER), {policy_digest: allowed}, MOST_STEPS, MOST_REFS, MOST_CANDIDATES
    )
