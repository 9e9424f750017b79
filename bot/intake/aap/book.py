"""What the AAP door remembers of a call: its own words, and which proposal stands behind it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from bot.intake.aap import denials
from bot.intake.aap.wire import AapRefused, seconds
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.masking import mask_secrets
from lifecycle.ports import Transaction
from lifecycle.state import State

_SPACE: Final = uuid.UUID("5f3c0b5e-6d1e-4c0a-9a53-3d9c4f0a7d11")


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that an adapter asks about. Times in ms UTC.

    `proposal_id` is None where no proposal stands behind it; `refused` says why. `digest` is that
    of the submission as it came.
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
    digest: str = ""


def fresh_call(agent: str, key: str, submission: Mapping[str, Any], now_ms: int) -> Asked:
    """Return a call that is asked about now; raises AapRefused for a timeout that is none."""
    return _dated(
        Asked(id_of(agent, key), agent, submission, 0, 0, digest=fingerprint(submission)), now_ms
    )


def id_of(agent: str, key: str) -> str:
    """Return the id under which one agent's key always stands for one call."""
    return str(uuid.uuid5(_SPACE, f"{agent}\n{key}"))


def asked(tx: Transaction, asked_id: str, agent: str) -> Asked:
    """Return an agent's own call; raises AapRefused 404."""
    found = _kept(tx, asked_id, agent)
    if found is None:
        raise AapRefused(404, "not_found", "You asked about no such call.")
    return found


def fingerprint(submission: Mapping[str, Any]) -> str:
    """Return what tells one submission from another, kept where its words are masked."""
    return digest_of(canonical_bytes(submission))


def known_call(tx: Transaction, fresh: Asked) -> Asked | None:
    """Return the call that this key stands for. Raises AapRefused where that is another one."""
    known = _kept(tx, fresh.id, fresh.agent)
    if known is not None and (known.digest or fingerprint(known.submission)) != fresh.digest:
        raise AapRefused(409, "idempotency_conflict", "This key stands for another call.")
    return known


def as_first_sent(tx: Transaction, fresh: Asked) -> Asked:
    """Return a call with the times under which its proposal was stored, where that was not noted.

    The proposal is the same document only with the same times.
    """
    found = tx.proposals.get(fresh.id)
    if found is None or found.actor.id != fresh.agent:
        return fresh
    try:
        return _dated(fresh, found.read().ts_ms)
    except ValueError:
        return fresh  # somebody wrote into the row; it stands for no call any more


def keep(tx: Transaction, call: Asked) -> tuple[Asked, bool]:
    """Write what became of a call, once; return what stands, and whether that is new.

    Raises AapRefused where its key stands for another one. The words of one that was refused, or
    whose proposal held a credential, are kept masked.
    """
    known = known_call(tx, call)
    if known is not None:
        return known, False
    proposal = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    if call.refused is not None or (proposal is not None and proposal.masked):
        call = replace(call, submission=mask_secrets(call.submission))
    if proposal is None or proposal.state is State.REJECTED:
        denials.keep(tx, call.agent, call.id, asdict(call))
    else:
        tx.flags.put(_flag(call.id), asdict(call))
    return call, True


def note_use(tx: Transaction, call: Asked, key: str) -> None:
    """Note which call and key used the permit up; written in the unit that does."""
    tx.flags.put(f"aap-use:{call.proposal_id}", {"id": call.id, "key": key})


def is_use(tx: Transaction, call: Asked, key: str) -> bool:
    """Say whether it was this call under this key that used the permit up."""
    return bool(tx.flags.get(f"aap-use:{call.proposal_id}") == {"id": call.id, "key": key})


def used_by(tx: Transaction, call: Asked) -> bool:
    """Say whether it was this call that used the permit up."""
    kept = tx.flags.get(f"aap-use:{call.proposal_id}")
    return kept is not None and kept["id"] == call.id


def known_outcome(tx: Transaction, call: Asked, told: Mapping[str, Any]) -> bool:
    """Say whether the same was told before. Raises AapRefused for another outcome."""
    known = asked(tx, call.id, call.agent).outcome
    if known is None:
        return False
    if {key: value for key, value in known.items() if key != "reported_at"} != dict(told):
        raise AapRefused(409, "outcome_conflict", "Another outcome was reported before.")
    return True


def keep_outcome(tx: Transaction, call: Asked, told: Mapping[str, Any], at: str) -> None:
    """Keep the outcome, once. Raises AapRefused where another was told before."""
    if not known_outcome(tx, call, told):
        known = asked(tx, call.id, call.agent)
        ended = replace(known, outcome={**told, "reported_at": at})
        tx.flags.put(_flag(call.id), asdict(ended))


def _kept(tx: Transaction, asked_id: str, agent: str) -> Asked | None:
    """Return what became of an agent's call; a key that was merely reserved stands for none."""
    found = tx.flags.get(_flag(asked_id)) or denials.kept(tx, agent, asked_id)
    if found is None or found["agent"] != agent:
        return None
    call = Asked(**found)
    return None if call.proposal_id is None and call.refused is None else call


def _dated(call: Asked, created_at_ms: int) -> Asked:
    deadline_ms = created_at_ms + seconds(call.submission["timeout"]) * 1000
    return replace(call, created_at_ms=created_at_ms, deadline_ms=deadline_ms)


def _flag(asked_id: str) -> str:
    return f"aap:{asked_id}"
