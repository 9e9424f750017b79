"""What the AAP door remembers of a call: its own words, and which proposal stands behind it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from bot.intake.aap.wire import AapRefused
from lifecycle.ports import Transaction

_SPACE: Final = uuid.UUID("5f3c0b5e-6d1e-4c0a-9a53-3d9c4f0a7d11")


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that an adapter asks about. Times in ms UTC.

    `proposal_id` is None until a proposal stands behind it; `refused` says why none does.
    """

    id: str
    agent: str
    submission: Mapping[str, Any]
    created_at_ms: int
    deadline_ms: int
    proposal_id: str | None = None
    refused: str | None = None
    refused_at_ms: int | None = None
    outcome: Mapping[str, Any] | None = None


def id_of(agent: str, key: str) -> str:
    """Return the id under which one agent's key always stands for one call."""
    return str(uuid.uuid5(_SPACE, f"{agent}\n{key}"))


def asked(tx: Transaction, asked_id: str, agent: str) -> Asked:
    """Return an agent's own call; raises AapRefused 404."""
    kept = tx.flags.get(_flag(asked_id))
    if kept is None or kept["agent"] != agent:
        raise AapRefused(404, "not_found", "You asked about no such call.")
    return Asked(**kept)


def open_call(tx: Transaction, fresh: Asked) -> tuple[Asked, bool]:
    """Keep a call once; return it, and whether it is new. Raises AapRefused for another content."""
    kept = tx.flags.get(_flag(fresh.id))
    if kept is None:
        keep(tx, fresh)
        return fresh, True
    known = Asked(**kept)
    if dict(known.submission) != dict(fresh.submission):
        raise AapRefused(409, "idempotency_conflict", "This key stands for another call.")
    return known, False


def keep(tx: Transaction, call: Asked) -> Asked:
    """Write what became of a call."""
    tx.flags.put(_flag(call.id), asdict(call))
    return call


def claim_use(tx: Transaction, call: Asked, key: str) -> bool:
    """Claim the proposal's one use for this call and key; False where another has it."""
    name = f"aap-use:{call.proposal_id}"
    use = {"id": call.id, "key": key}
    kept = tx.flags.get(name)
    if kept is None:
        tx.flags.put(name, use)
    return kept in (None, use)


def release_use(tx: Transaction, call: Asked) -> None:
    """Give the claim back: nothing was begun."""
    tx.flags.put(f"aap-use:{call.proposal_id}", None)


def used_by(tx: Transaction, call: Asked) -> bool:
    """Say whether it was this call that used the permit up."""
    kept = tx.flags.get(f"aap-use:{call.proposal_id}")
    return kept is not None and kept["id"] == call.id


def report_outcome(tx: Transaction, call: Asked, told: Mapping[str, Any], at: str) -> bool:
    """Keep the outcome; False where the same was told before. Raises AapRefused for another."""
    known = asked(tx, call.id, call.agent)
    if known.outcome is not None:
        before = {key: value for key, value in known.outcome.items() if key != "reported_at"}
        if before != dict(told):
            raise AapRefused(409, "outcome_conflict", "Another outcome was reported before.")
        return False
    keep(tx, replace(known, outcome={**told, "reported_at": at}))
    return True


def _flag(asked_id: str) -> str:
    return f"aap:{asked_id}"
