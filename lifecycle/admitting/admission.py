"""Runs steps 5 to 8 of the first gate and writes the row behind them (design section 4).

All of it runs within the unit that admits; `intake` calls it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lifecycle import authority
from lifecycle.admitting.enrolling import enrol
from lifecycle.admitting.repeated import as_known, as_twin, same_document, twin_of
from lifecycle.announcing import announce
from lifecycle.answers import Answer, AuthorityOutcome, Sender, refusal
from lifecycle.canonical import digest_of
from lifecycle.door import end, record
from lifecycle.ending import answer_of
from lifecycle.errors import Fault, Refused
from lifecycle.event_kinds import EventKind
from lifecycle.expiry import expire
from lifecycle.first_gate import meaning
from lifecycle.first_gate.gate import Accepted, refused_as_sent
from lifecycle.llm.ingest import EnvelopeRefused
from lifecycle.llm.witness import kept_in_trail
from lifecycle.moment import Moment
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Cause, Identity, Proposal
from lifecycle.proposers import proposer_of
from lifecycle.records import Message
from lifecycle.state import Trigger
from lifecycle.text.masking import mask_secrets, plain_words
from lifecycle.tier import Puller, Tier
from lifecycle.verdicts.judge import masked_forms

_EXPIRED_A_SUBMIT = 50
#: So many pieces of evidence does the trail name of those that one check asked about.
_MOST_NAMED: Final = 32
_FLOODS: Final = frozenset({"too_many_open", "rate_limited"})
#: The flags under which it is noted when people were told of who does so more than it may.
_FLOOD_OF: Final = {"proposes": "flood", "checks": "flood of checks"}
_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
#: So many attempts at one BLOCK tool, by one proposer within a minute, are stored as proposals.
#: They may be as large as any, and no authority is asked whose rate would hold them up (ADR 0029).
_BLOCKED_A_MINUTE: Final = 60


def admit(
    tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender, raw: bytes
) -> Proposal | Answer:
    """Judge an accepted document against what is on record; store the proposal if one arises.

    Return the new proposal, which is to be judged, or the answer if none arose. `raw` is the
    document as it was sent: a refusal is told of these bytes.
    """
    _expire_what_is_late(tx, moment, accepted)
    try:
        existing = same_document(tx, accepted, sender)
        if existing is not None:
            return as_known(existing, moment)
        if accepted.tool.tier is Tier.BLOCK:
            return answer_of(_blocked(tx, moment, accepted, sender))
        _meaning(tx, moment, accepted, sender)
        return _authorised(tx, moment, accepted, sender, raw)
    except Refused as error:
        return refuse(tx, moment, refused_as_sent(error, accepted), sender, raw)


def _expire_what_is_late(tx: Transaction, moment: Moment, accepted: Accepted) -> None:
    """Expire some proposals that are past their deadline, and always those this one may repeat."""
    actor, content = accepted.document.actor, accepted.content_digest
    same = tx.proposals.get(accepted.document.proposal_id), tx.proposals.open_like(actor, content)
    for late in {p.proposal_id: p for p in same if p is not None}.values():
        if late.expired(moment.now_ms):
            expire(tx, moment, late)
    for late in tx.proposals.due_to_expire(moment.now_ms, _EXPIRED_A_SUBMIT):
        expire(tx, moment, late)


def dry_run(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Answer | None:
    """Say what `admit` would answer without a proposal; None if one would arise. Raises Refused."""
    try:
        return _dry_run(tx, moment, accepted, sender)
    except Refused as error:
        raise refused_as_sent(error, accepted) from None


def _dry_run(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Answer | None:
    existing = same_document(tx, accepted, sender)
    if existing is not None:
        return as_known(existing, moment)
    if accepted.tool.tier is Tier.BLOCK:
        return _would_be_blocked(accepted)
    _meaning(tx, moment, accepted, sender)
    decision = _authority(tx, moment, accepted, sender)
    if decision.outcome is not AuthorityOutcome.ALLOW:
        error = Refused(decision.faults, retry_after_s=decision.retry_after_s)
        return refusal(error, decision.outcome)
    twin = twin_of(tx, moment, accepted, sender)
    return as_twin(twin, accepted, moment) if twin else None


def ask_of_evidence(
    tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender, raw: bytes
) -> Answer | None:
    """Answer as `dry_run` does about a document with preconditions. Whether it would pass tells
    what the evidence says, and with `matches` letter by letter.

    So it is asked no oftener than the tool may be proposed, and the trail tells of it. It takes
    nothing from what may be proposed (ADR 0030). Raises Refused.
    """
    known = dry_run(tx, moment, accepted, sender)
    if known is not None:
        return known
    document, tool = accepted.document, accepted.tool.name
    counted_as = authority.check_of(tool)
    decision = _authority(tx, moment, accepted, sender, counted_as)
    if decision.outcome is not AuthorityOutcome.ALLOW:
        wait_s = decision.retry_after_s
        words = f"Wait {wait_s or 0} s, then check again; proposals are counted apart."
        faults = [replace(fault, suggestion=words) for fault in decision.faults]
        error = Refused(faults, retry_after_s=wait_s)
        return refuse(tx, moment, error, sender, raw, decision.outcome, does="checks")
    tx.uses.add(document.actor, counted_as, moment.now_ms)
    named = sorted({condition.evidence_ref for condition in document.preconditions})
    details = {"tool": tool, "bytes_digest": digest_of(raw), "evidence": named[:_MOST_NAMED]}
    record(tx, moment, EventKind.CHECKED, sender.identity, sender=sender, details=details)
    return None


def refuse(
    tx: Transaction,
    moment: Moment,
    error: Refused,
    sender: Sender,
    data: bytes,
    outcome: AuthorityOutcome = AuthorityOutcome.DENY,
    *,
    does: str = "proposes",
) -> Answer:
    """Write the audit event of a refused document (its digest, not its bytes) and answer.

    `does` is what the sender did with it, a key of `_FLOOD_OF`.
    """
    record(
        tx,
        moment,
        EventKind.REFUSED,
        sender.identity,
        sender=sender,
        reason=error.code,
        details={
            "codes": sorted({fault.code for fault in error.faults}),
            "account": plain_words(sender.account),
            "bytes_digest": digest_of(data),
            "outcome": outcome.value,
        }
        | ({"witness": kept_in_trail(error.witness)} if isinstance(error, EnvelopeRefused) else {}),
    )
    if error.code in _FLOODS and sender.id is not None:
        _tell_of_a_flood(tx, moment, sender.id, error, does)
    return refusal(error, outcome)


def _tell_of_a_flood(
    tx: Transaction, moment: Moment, proposer: str, error: Refused, does: str = "proposes"
) -> None:
    """Announce, at most once an hour, that somebody proposes, or checks, more than it may."""
    flag = f"{_FLOOD_OF[does]}:{proposer}"
    if not _may_tell(tx, moment, flag, _HOUR_MS):
        return
    words = f"{proposer} {does} more than it may, and the rest is refused: {error}"
    announce(tx, moment, f"{flag}:{moment.now_ms}", words)


def _may_tell(tx: Transaction, moment: Moment, flag: str, every_ms: int) -> bool:
    """Return True and note the time under `flag`, unless one less than `every_ms` old is there."""
    before_ms = tx.flags.get(flag)
    if isinstance(before_ms, int) and abs(moment.now_ms - before_ms) < every_ms:
        return False
    tx.flags.put(flag, moment.now_ms)
    return True


def _meaning(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> None:
    """Raise Refused for what makes no sense.

    That it had to wait for the bot, or for its platform to say whose it is, is no fault of its
    sender: people see how old it is. But what nobody would look at is not begun so late, and what
    would have expired meanwhile is too old to begin with.
    """
    now_ms, limits = moment.now_ms, moment.policy.limits
    said_ms = max(sender.said_ms(now_ms), now_ms - limits.proposal_ttl_s * 1000)
    as_heard_ms = said_ms if _asks_people(moment.policy, accepted) else now_ms
    faults = meaning.meaning_faults(accepted, moment.policy, now_ms, tx.evidence.get, as_heard_ms)
    if faults:
        raise Refused(faults)


def _asks_people(policy: Policy, accepted: Accepted) -> bool:
    """Return whether it begins only if a person approves: by tier, and by no orchestrator."""
    return accepted.quorum > 0 and (accepted.quorum_needs_people or policy.orchestrator is None)


def _authority(
    tx: Transaction,
    moment: Moment,
    accepted: Accepted,
    sender: Sender,
    counted_as: str | None = None,
) -> authority.Decision:
    proposer = proposer_of(sender, moment)
    rate = authority.rate_of(accepted.tool, moment.policy)
    counted_as = counted_as or accepted.tool.name
    uses = tx.uses.since(proposer.id, counted_as, moment.now_ms - rate.per_s * 1000)
    return authority.decide(proposer, accepted, moment.policy, uses, moment.now_ms)


def _authorised(
    tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender, raw: bytes
) -> Proposal | Answer:
    decision = _authority(tx, moment, accepted, sender)
    if decision.outcome is not AuthorityOutcome.ALLOW:
        error = Refused(decision.faults, retry_after_s=decision.retry_after_s)
        if decision.outcome is AuthorityOutcome.ASK:
            _tell_owner(tx, moment, accepted, sender, str(error))
        return refuse(tx, moment, error, sender, raw, decision.outcome)
    tx.uses.add(accepted.document.actor, accepted.tool.name, moment.now_ms)
    twin = twin_of(tx, moment, accepted, sender)
    if twin is not None:
        record(tx, moment, EventKind.DEDUPLICATED, sender.identity, proposal=twin, sender=sender)
        return as_twin(twin, accepted, moment)
    return enrol(tx, moment, accepted, sender)


def _tell_owner(
    tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender, words: str
) -> None:
    """Tell the owner what the agent was asked, at most once a minute for each of its tools.

    What is only asked about uses up no rate: an agent may send a thousand of these a second.
    """
    agent, tool = accepted.document.actor, accepted.tool.name
    owner = moment.policy.owner_of(agent)
    if owner is None or not _may_tell(tx, moment, f"asked:{agent}:{tool}", _MINUTE_MS):
        return
    # If the agent asked over a door without people, its owner is told on every surface.
    known = sender.surface in moment.surfaces
    for surface in (sender.surface,) if known else moment.surfaces:
        tx.outbox.add(
            Message(
                key=f"ask:{accepted.digest}:{moment.now_ms}@{surface}",
                surface=surface,
                recipient=owner,
                kind="note",
                body={"text": f"{agent} wanted to use {tool} and was asked to say more: {words}"},
                created_at_ms=moment.now_ms,
            )
        )


def _blocked_words(accepted: Accepted) -> str:
    return f"{accepted.tool.name} is a BLOCK tool: nobody and nothing can execute it."


def _would_be_blocked(accepted: Accepted) -> Answer:
    """Return the answer about a BLOCK tool when somebody only asks, so that nothing is stored."""
    return Answer(
        proposal_id=None,
        state=None,
        tier=Tier.BLOCK.value,
        outcome=AuthorityOutcome.DENY,
        reason="tool_blocked",
        explanation=_blocked_words(accepted),
    )


def _blocked(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Proposal:
    """Store a blocked proposal, so that the attempt leaves a trace; of a flood of them the trail
    tells the digests alone. Raises Refused for these."""
    actor, tool = accepted.document.actor, accepted.tool.name
    before = tx.uses.since(actor, tool, moment.now_ms - _MINUTE_MS)
    if len(before) >= _BLOCKED_A_MINUTE:
        error = Refused([Fault("tool_blocked", suggestion=_blocked_words(accepted))])
        _tell_of_a_flood(tx, moment, actor, error)
        raise error
    tx.uses.add(actor, tool, moment.now_ms)
    enrolled = enrol(tx, moment, accepted, sender)
    shown = accepted.document.model_dump(mode="json", exclude_none=True)
    holds_secrets = mask_secrets(shown) != shown  # asked here: no rule judges a blocked proposal
    by = Identity(ActorKind.TOOL, accepted.tool.name)
    cause = Cause(by, Puller.TIER, "tool_blocked", _blocked_words(accepted))
    changes = masked_forms(enrolled) if holds_secrets else {}
    return end(tx, moment, enrolled, Trigger.REJECT, cause, sender=sender, **changes)
