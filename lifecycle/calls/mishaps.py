"""Call for a person after an answer of a tool that leaves something open (design section 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.calls.quoting import secrets_of
from lifecycle.door import call_for_attention
from lifecycle.existing import begun
from lifecycle.moment import Moment
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import ActorKind, Attention, Execution, Identity, Outcome, Proposal
from lifecycle.text.masking import harmless, mask_secrets
from lifecycle.text.quoted_secrets import Secrets, mask_quoted

#: The most parts that a sentence tells, and the characters of each; `show --json` has them all.
_MOST_TOLD: Final = 5
_LONGEST_TOLD: Final = 120
#: In the details of an entry: what stands without the tool's own secrets, if it repeats one.
_SHOWN: Final = "shown"
_UNREAD: Final = "what it was cannot be shown, for the trail cannot be read"


def tool_of(proposal: Proposal) -> Identity:
    """Return the proposal's tool as an actor."""
    return Identity(ActorKind.TOOL, proposal.tool)


def unknown(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Call for a person: nobody knows whether the tool acted. It is never guessed or repeated."""
    execution = begun(proposal)
    call = f"{execution.verb.value} of {proposal.idempotency_key}{_or_before(execution)}"
    return call_for_attention(
        tx,
        moment,
        proposal,
        Attention.OUTCOME_UNKNOWN,
        f"{why} Whether {call} happened is unknown; look, then: settle {proposal.proposal_id} "
        "happened | did-not-happen",
        tool_of(proposal),
        execution=replace(execution, outcome=Outcome.UNKNOWN, explanation=why),
    )


def _or_before(execution: Execution) -> str:
    """Return words for earlier attempts, which had keys of their own, if one may have happened."""
    earlier = execution.doubted and execution.attempt > 1
    return ", or of an attempt before it," if earlier else ""


def commit_failed(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    why: str,
    details: Mapping[str, Any] | None = None,
) -> Proposal:
    """Call for a person: the stage was not committed; both retry and roll back are open. The entry
    tells `details`, too."""
    execution = begun(proposal)
    return call_for_attention(
        tx,
        moment,
        proposal,
        Attention.COMMIT_FAILED,
        f"{_sentence(why)} Nothing was carried out yet: retry {proposal.proposal_id}, or "
        f"roll-back {proposal.proposal_id} <reason>.",
        tool_of(proposal),
        details,
        execution=replace(execution, outcome=Outcome.FAILED, explanation=why),
    )


def rollback_incomplete(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    why: str,
    answered: tuple[Any, ...] | None = None,
    handed: Secrets = (),
) -> Proposal:
    """Call for a person: something of what was done still stands.

    `answered` is what the tool says still stands, None if it said nothing; then its earlier answer
    remains in force. The entry tells only what the tool said now, since somebody may have changed
    the row. `handed` are the tool's own secrets, which its answer may repeat.
    """
    execution = begun(proposal)
    still_stands = execution.still_stands if answered is None else answered
    standing = stands_shown(tx, proposal) if answered is None else list(answered)
    shown = mask_quoted(standing, handed)
    spared = mask_secrets(mask_quoted(shown, secrets_of(proposal)))  # the trail keeps no secret
    details = {"stands": None if answered is None else digest_told(list(answered))}
    return call_for_attention(
        tx,
        moment,
        proposal,
        Attention.ROLLBACK_INCOMPLETE,
        f"{_sentence(why)}{_told(proposal, shown)} To try what still stands again: "
        f"retry {proposal.proposal_id}; where it was taken back by hand: settle "
        f"{proposal.proposal_id} happened",
        tool_of(proposal),
        details if answered is None or shown == standing else details | {_SHOWN: spared},
        execution=replace(
            execution, outcome=Outcome.FAILED, still_stands=still_stands, explanation=why
        ),
    )


def stands_shown(tx: Transaction, proposal: Proposal) -> list[Any]:
    """Return what still stands without the secrets that the tool was handed by its config, as the
    trail tells: by now the config may hand it others, or have no such tool."""
    execution = proposal.execution
    if execution is None or not execution.still_stands:
        return []
    try:
        trail = tx.audit.without_attempts(proposal.proposal_id)
    except RowUnreadable:
        return [_UNREAD]
    told = (entry.event.details for entry in reversed(trail))
    shown = next((each.get(_SHOWN) for each in told if each.get("stands") is not None), None)
    return shown if isinstance(shown, list) else list(execution.still_stands)


def _told(proposal: Proposal, still_stands: Sequence[Any]) -> str:
    """Return what still stands in the tool's own words, masked and cut; empty if nothing does.

    A person who has to take it back by hand must see what it is, wherever they read of it.
    """
    if not still_stands:
        return ""
    given = secrets_of(proposal)
    parts = [_part(mask_quoted(each, given)) for each in still_stands[:_MOST_TOLD]]
    if len(parts) > 1:
        parts = [f"({number}) {part}" for number, part in enumerate(parts, start=1)]
    more = len(still_stands) - len(parts)
    also = f"; and {more} more (all in show --json)" if more else ""
    return f" What stands: {_sentence('; '.join(parts) + also)}"


def _part(value: Any) -> str:
    """Return one part on one line; credentials are masked before anything is cut off."""
    shown = mask_secrets(value)
    words = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    line = harmless(words)
    return line if len(line) <= _LONGEST_TOLD else f"{line[:_LONGEST_TOLD]}…"


def _sentence(words: str) -> str:
    """Return the words with a full stop; a tool's words may have none."""
    return words if words.endswith((".", "!", "?")) else f"{words}."
