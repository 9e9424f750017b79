"""Keep what the AAP door knows of a call: its own words, and the proposal behind it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from bot.intake.aap import denials
from bot.intake.aap.together import FOR_EVER, note, noted
from bot.intake.aap.wire import AapRefused, seconds
from bot.row_kinds import Kinds
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.ports import Transaction
from lifecycle.proposal import Outcome
from lifecycle.state import State
from lifecycle.text.masking import mask_secrets

_SPACE: Final = uuid.UUID("5f3c0b5e-6d1e-4c0a-9a53-3d9c4f0a7d11")
#: The most calls on one proposal that are noted by id; of any more only the latest deadline.
_MOST_NAMED: Final = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that an adapter asks about. Times are in ms UTC.

    `proposal_id` is None if no proposal stands behind it; `refused` says why. `digest` is that of
    the submission as it came. Several calls may stand on one proposal; so what a call was told, its
    end included, is kept with the call.
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
    cancelled_at_ms: int | None = None


_KINDS: Final = Kinds(Asked)


class Unread(AapRefused):
    """What is kept of a call is nothing that the door wrote: the call never begins."""

    def __init__(self) -> None:
        """Say so as of a call that nobody asked about."""
        super().__init__(
            404, "not_found", "What was kept of this call cannot be read: use a new key."
        )


def fresh_call(
    agent: str, key: str, submission: Mapping[str, Any], now_ms: int, longest_s: int
) -> Asked:
    """Return a call that is asked about now. Raises AapRefused for a malformed timeout.

    A longer one than `longest_s` (`limits.longest_window_s`) is shortened to that: adapters have
    timeouts of their own, and know nothing of our limits.
    """
    deadline_ms = now_ms + min(longest_s, seconds(submission["timeout"])) * 1000
    digest = fingerprint(submission)
    return Asked(id_of(agent, key), agent, submission, now_ms, deadline_ms, digest=digest)


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
    """Return the digest of a submission; it is kept even when the words are masked."""
    return digest_of(canonical_bytes(submission))


def known_call(tx: Transaction, fresh: Asked) -> Asked | None:
    """Return the call that this key stands for, if any. Raises AapRefused if it is another call, or
    one that cannot be read."""
    try:
        known = _kept(tx, fresh.id, fresh.agent)
    except Unread as unread:
        raise AapRefused(409, "idempotency_conflict", str(unread)) from unread
    if known is not None and (known.digest or fingerprint(known.submission)) != fresh.digest:
        raise AapRefused(409, "idempotency_conflict", "This key stands for another call.")
    return known


def as_first_sent(tx: Transaction, fresh: Asked) -> Asked:
    """Return the call with the times of its stored proposal, in case the call itself was not
    stored.

    The proposal is the same document only with the same times.
    """
    found = tx.proposals.get(fresh.id)
    if found is None or found.actor.id != fresh.agent:
        return fresh
    try:
        document = found.read()
    except ValueError:
        return fresh  # somebody changed the row; it stands for no call any more
    window = document.time_window
    if window is None:
        return fresh  # it came through another door
    return replace(fresh, created_at_ms=document.ts_ms, deadline_ms=window.valid_until_ms)


def keep(tx: Transaction, call: Asked) -> tuple[Asked, bool]:
    """Store what became of a call, once; return the stored call, and whether it is new.

    Raises AapRefused if its key stands for another call. The words are masked if the call was
    refused, or if its proposal held a credential. The context always is: it is no part of the
    proposal, so no rule reads it.
    """
    known = known_call(tx, call)
    if known is not None:
        return known, False
    proposal = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    sent = call.submission
    if call.refused is not None or (proposal is not None and proposal.masked):
        call = replace(call, submission=mask_secrets(sent))
    elif "context" in sent:
        call = replace(call, submission={**sent, **mask_secrets({"context": sent["context"]})})
    if proposal is None or proposal.state is State.REJECTED:
        denials.keep(tx, call.agent, call.id, asdict(call))
    else:
        tx.flags.put(_flag(call.id), asdict(call))
        _join(tx, call)
    return call, True


def cancel(tx: Transaction, call: Asked, now_ms: int) -> None:
    """Note that a call was taken back; its proposal may stand for another call as well."""
    tx.flags.put(_flag(call.id), asdict(replace(call, cancelled_at_ms=now_ms)))
    those = noted(tx, call.proposal_id)
    if those is not None:
        left = {each: until for each, until in those["calls"].items() if each != call.id}
        note(tx, call.proposal_id, those | {"calls": left})


def nobody_waits(tx: Transaction, call: Asked, now_ms: int) -> bool:
    """Return True if the proposal behind a cancelled call is wanted by no call any more.

    A proposal that came through another door is never withdrawn on account of a call.
    """
    found = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    if found is None or found.terminal or found.execution is not None:
        return False
    try:
        if _kept(tx, found.proposal_id, call.agent) is None:
            return False
    except Unread:
        return False  # whoever asked first may wait for it
    those = noted(tx, call.proposal_id)
    if those is None:  # of a version that did not count
        return call.proposal_id == call.id
    return all(
        until_ms <= now_ms for until_ms in (*those["calls"].values(), those["more_until_ms"])
    )


def in_clear(tx: Transaction, call: Asked) -> bool:
    """Return True if a call's words still hold what was masked in its proposal later on."""
    found = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    masked = found is not None and found.masked
    return masked and mask_secrets(call.submission) != call.submission


def mask(tx: Transaction, call: Asked) -> None:
    """Mask the stored words of a call."""
    kept = asked(tx, call.id, call.agent)
    digest = kept.digest or fingerprint(kept.submission)
    hidden = replace(kept, submission=mask_secrets(kept.submission), digest=digest)
    tx.flags.put(_flag(call.id), asdict(hidden))


def note_use(tx: Transaction, call: Asked, key: str, now_ms: int) -> None:
    """Note which call and key used up the permit; it runs in the unit that uses it up.

    Raises AapRefused, which undoes the use, for a call that ended before its proposal.
    """
    if asked(tx, call.id, call.agent).cancelled_at_ms is not None:
        raise AapRefused(409, "not_approved", "This call is cancelled.")
    if now_ms >= call.deadline_ms:
        raise AapRefused(409, "approval_expired", "This call is expired.")
    tx.flags.put(f"aap-use:{call.proposal_id}", {"id": call.id, "key": key})


def is_use(tx: Transaction, call: Asked, key: str) -> bool:
    """Return True if this call under this key used up the permit."""
    return bool(tx.flags.get(f"aap-use:{call.proposal_id}") == {"id": call.id, "key": key})


def use_runs(tx: Transaction, call: Asked) -> bool:
    """Return True if the permit is used up, and what was begun with it is still awaited."""
    found = tx.proposals.get(call.proposal_id) if call.proposal_id else None
    execution = found.execution if found is not None else None
    return execution is not None and execution.outcome is Outcome.RUNNING


def used_by(tx: Transaction, call: Asked) -> bool:
    """Return True if this call used up the permit."""
    kept = tx.flags.get(f"aap-use:{call.proposal_id}")
    return isinstance(kept, Mapping) and kept.get("id") == call.id


def known_outcome(tx: Transaction, call: Asked, told: Mapping[str, Any]) -> bool:
    """Return True if this outcome was told before. Raises AapRefused if another one was."""
    known = asked(tx, call.id, call.agent).outcome
    if known is None:
        return False
    if {key: value for key, value in known.items() if key != "reported_at"} != dict(told):
        raise AapRefused(409, "outcome_conflict", "Another outcome was reported before.")
    return True


def keep_outcome(tx: Transaction, call: Asked, told: Mapping[str, Any], at: str) -> None:
    """Store the outcome, once. Raises AapRefused if another one was told before."""
    if not known_outcome(tx, call, told):
        known = asked(tx, call.id, call.agent)
        ended = replace(known, outcome={**told, "reported_at": at})
        tx.flags.put(_flag(call.id), asdict(ended))


def _kept(tx: Transaction, asked_id: str, agent: str) -> Asked | None:
    """Return the stored call of an agent; None for a key that was merely reserved.

    Raises Unread.
    """
    found = tx.flags.get(_flag(asked_id)) or denials.kept(tx, agent, asked_id)
    if found is None:
        return None
    call = _call_in(found)
    if call.id != asked_id:
        raise Unread
    if call.agent != agent:
        return None
    return None if call.proposal_id is None and call.refused is None else call


def _call_in(found: Any) -> Asked:
    """Return the call in a flag. Raises Unread."""
    try:
        call = Asked(**found)
        _KINDS.check_record(call)
    except TypeError as error:
        raise Unread from error
    sent = call.submission
    if not (isinstance(sent.get("tool"), str) and isinstance(sent.get("arguments"), Mapping)):
        raise Unread
    return call


def _join(tx: Transaction, call: Asked) -> None:
    """Note a call among those that stand on its proposal, with its deadline."""
    those = noted(tx, call.proposal_id) or _those_before(tx, call)
    begun_ms, more_until_ms = call.created_at_ms, those["more_until_ms"]
    open_calls = {each: until for each, until in those["calls"].items() if until > begun_ms}
    if len(open_calls) < _MOST_NAMED:
        open_calls[call.id] = call.deadline_ms
    else:
        more_until_ms = max(more_until_ms, call.deadline_ms)
    note(tx, call.proposal_id, {"calls": open_calls, "more_until_ms": more_until_ms})


def _those_before(tx: Transaction, call: Asked) -> dict[str, Any]:
    """Return the note for a proposal that has none yet: with the call that it was made for."""
    try:
        first = _kept(tx, call.proposal_id, call.agent) if call.proposal_id else None
    except Unread:
        return dict(FOR_EVER)
    waits = first is not None and first.id != call.id and first.cancelled_at_ms is None
    calls = {first.id: first.deadline_ms} if first is not None and waits else {}
    return {"calls": calls, "more_until_ms": 0}


def _flag(asked_id: str) -> str:
    return f"aap:{asked_id}"
