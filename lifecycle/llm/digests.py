"""Compute the digests of seed 001; each says by its prefix what it is a digest of."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from lifecycle.canonical import canonical_bytes, sha256_hex
from lifecycle.llm.normalizer import Normalizer

_KCIR_KIND: Final = "kcir.proposal.v1"
_WITNESS_SCHEMA: Final = 1
#: A witness is identified by these fields; its wording may change.
_WITNESS_KEYS: Final = ("class", "lawRef", "tokenPath", "context")


def proposal_digest(canonical: Mapping[str, Any], normalizer: Normalizer) -> str:
    """Return `prop1_…` of a canonical plan."""
    return "prop1_" + sha256_hex(normalizer.bytes_of(canonical))


def kcir_ref(canonical: Mapping[str, Any], normalizer: Normalizer) -> str:
    """Return `kcir1_…`, the reference under which other checkers know the same plan."""
    projection = {"kind": _KCIR_KIND, "canonicalProposal": canonical}
    return "kcir1_" + sha256_hex(normalizer.bytes_of(projection))


def obligation_id(core: Mapping[str, Any], normalizer: Normalizer) -> str:
    """Return `obl1_…` of an obligation without its id."""
    return "obl1_" + sha256_hex(normalizer.bytes_of(core))


def instruction_digest(envelope: Any) -> str:
    """Return `instr1_…` of a whole envelope."""
    return "instr1_" + sha256_hex(canonical_bytes(envelope))


def witness_id(witness: Mapping[str, Any]) -> str:
    """Return `w1_…`, computed from class, law, place and context of a witness, not its words."""
    key = {name: witness[name] for name in _WITNESS_KEYS if witness.get(name) is not None}
    data = canonical_bytes({"schema": _WITNESS_SCHEMA} | key)
    text = base64.b32hexencode(hashlib.sha256(data).digest()).decode("ascii")
    return "w1_" + text.rstrip("=").lower()
