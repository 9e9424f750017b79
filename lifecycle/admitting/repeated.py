"""Recognises what was sent before: the same document, the same wish, or one that people refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.answers import Answer, Sender
from lifecycle.ending import answer_of
from lifecycle.errors import Fault, Refused
from lifecycle.expiry import as_seen, undecided
from lifecycle.first_gate.gate import Accepted
from lifecycle.first_gate.kind import Kind
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.proposers import proposer_of
from lifecycle.text.masking import mask_text


def same_document(tx: Transaction, accepted: Accepted, sender: Sender) -> Proposal | None:
    """Return the proposal that this very document made before, None if its id is free.

    Raises Refused if the sender speaks in another name, or the id stands for something else.
    """
    document = accepted.document
    if document.actor != sender.id:
        raise Refused(
            [
                Fault(
                    "actor_mismatch",
                    "actor",
                    required=sender.id,
                    actual="another id",
                    suggestion=f"You speak as {sender.id}; actor must say so.",
                )
            ]
        )
    existing = tx.proposals.get(document.proposal_id)
    if existing is None:
        return None
    if existing.digest == accepted.digest and existing.actor == sender.identity:
        return existing
    words = _taken(existing, accepted, sender)
    raise Refused([Fault("id_conflict", "proposal_id", suggestion=words)])


def _taken(existing: Proposal, accepted: Accepted, sender: Sender) -> str:
    """Say for what an id stands that another document has. Who wrote the same anew, because an
    answer was lost, is not sent to a new id, under which what was done would be done once more."""
    name = "request_id" if accepted.kind is Kind.KERNEL_REQUEST else "proposal_id"
    own = existing.actor == sender.identity
    if not own or existing.content_digest != accepted.content_digest:
        return f"This {name} stands for another document; choose a new one."
    return (
        f"You have proposed the same content under this {name} already: look what became of it. "
        f"Choose a new {name} only if it was not done, or is to be done once more."
    )


def as_known(existing: Proposal, moment: Moment) -> Answer:
    """Answer with the proposal as every view shows it: past its deadline as expired, even while a
    stop keeps the deadline from ending it (ADR 0020)."""
    return answer_of(as_seen(existing, moment.now_ms), deduplicated=True)


def as_twin(twin: Proposal, accepted: Accepted, moment: Moment) -> Answer:
    """Answer with the open proposal of the same content, and name the other fields that differ."""
    return replace(as_known(twin, moment), differs=_differing_paths(twin, accepted))


def twin_of(tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender) -> Proposal | None:
    """Return the proposer's open proposal of the same content, None if a new one may arise.

    Raises Refused if a person refused the same lately, or too many are open.
    """
    twin = tx.proposals.open_like(accepted.document.actor, accepted.content_digest)
    if twin is not None and (not twin.expired(moment.now_ms) or undecided(tx, moment, twin)):
        return twin
    _check_not_refused(tx, moment, accepted)
    _check_not_too_many(tx, moment, accepted, sender)
    return None


def _check_not_refused(tx: Transaction, moment: Moment, accepted: Accepted) -> None:
    binds_ms = moment.policy.limits.refusal_binds_s * 1000
    # The + 1: whoever waits for as long as it was told to is not refused again.
    since_ms, until_ms = moment.now_ms - binds_ms + 1, moment.now_ms + binds_ms
    # A refusal from the future was noted by a clock set back since: it binds twice as long at most.
    known_as = accepted.likeness_digest, accepted.content_digest
    refused = tx.proposals.refused_like(accepted.document.actor, *known_as, (since_ms, until_ms))
    if refused is not None:
        raise _previously_rejected(refused, since_ms)


def _check_not_too_many(
    tx: Transaction, moment: Moment, accepted: Accepted, sender: Sender
) -> None:
    limit = proposer_of(sender, moment).open_limit
    if tx.proposals.count_open(accepted.document.actor) < limit:
        return
    raise Refused(
        [
            Fault(
                "too_many_open",
                required=f"at most {limit} open proposals",
                actual=f"{limit} open",
                suggestion="Wait until some of your open proposals are decided, or withdraw "
                "what is no longer needed.",
            )
        ],
        retry_after_s=60,
    )


def _previously_rejected(refused: Proposal, since_ms: int) -> Refused:
    decided_ms = refused.decided_at_ms or refused.created_at_ms
    left_s = max(1, -(-(decided_ms - since_ms) // 1000))
    why = mask_text(refused.explanation) or refused.reason
    words = (
        f"{refused.decided_by} refused the same in {refused.proposal_id}: {why}. "
        f"Do not send it again within the next {-(-left_s // 60)} min."
    )
    return Refused([Fault("previously_rejected", suggestion=words)], retry_after_s=left_s)


def _differing_paths(twin: Proposal, accepted: Accepted) -> tuple[str, ...]:
    """Name the top-level fields outside the content digest that differ between two documents."""
    mine: Mapping[str, Any] = accepted.document.model_dump(mode="json")
    try:
        theirs: Mapping[str, Any] = twin.read().model_dump(mode="json")
    except ValueError:
        return ()  # somebody changed the row, which is dealt with elsewhere
    covered = {"proposal_id", "ts_ms", "actor", "tool", "target", "parameters"}
    return tuple(sorted(k for k in mine.keys() - covered if mine[k] != theirs[k]))
