"""Claim a call: write its intent and its permit before it is made.

A commit or a roll back belongs to whoever wrote its claim first; the store runs units one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lifecycle.deciding import decided_by
from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.moment import Moment
from lifecycle.permitting import grant
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import (
    ActorKind,
    Cause,
    Execution,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.tier import Puller
from lifecycle.verdicts.fingerprints import call_print_of

_CLAIMS: Final = {
    Verb.COMMIT: EventKind.COMMIT_CLAIMED,
    Verb.ROLL_BACK: EventKind.ROLL_BACK_CLAIMED,
}

#: In place of a permit, for a tool that the config has no more. No key signed it, so the call is
#: refused before it is made, and its end is written like that of any other.
_NO_PERMIT: Final = "none"


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that is ours to make: the proposal with its intent on disk, and the token of the
    permit."""

    proposal: Proposal
    token: str


def claim_commit(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    cause: Cause,
    details: Mapping[str, Any] | None = None,
) -> Claim:
    """Claim the commit, the point of no return. `details` are told by its entry."""
    return _claim(tx, moment, proposal, Verb.COMMIT, cause, details)


def claim_roll_back(tx: Transaction, moment: Moment, proposal: Proposal, cause: Cause) -> Claim:
    """Claim the roll back; its permit is granted whatever has expired."""
    return _claim(tx, moment, proposal, Verb.ROLL_BACK, cause)


def claim_kept_stop(tx: Transaction, moment: Moment, proposal: Proposal, stop: KeptStop) -> Claim:
    """Claim the roll back for a ❌ that was kept until the tool answered."""
    by = Identity(ActorKind.PERSON, stop.person)
    cause = Cause(by, Puller.PERSON, "rolled_back_by_person", stop.reason)
    return claim_roll_back(tx, moment, proposal, cause)


def reclaim(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Claim:
    """Claim the same verb again: for a person with a new attempt, after a crash with one more try.

    `by` is who has it called again. If somebody decided the call (its cause), it goes on in the
    name of that one. An execution goes on as its tool is by now: whether a commit follows is said
    by the config by which it is called, not by that of the call before.
    """
    person = by.kind is ActorKind.PERSON
    execution = begun(proposal)
    attempt = execution.attempt + 1 if person else execution.attempt
    tries = 1 if person else execution.tries + 1
    doubted = execution.doubted or execution.outcome is not Outcome.FAILED
    again = replace(execution, attempt=attempt, tries=tries, doubted=doubted)
    tool = moment.policy.tools.get(proposal.tool)
    if execution.verb is Verb.EXECUTE and tool is not None:
        again = replace(again, deferred=tool.deferred)
    if execution.verb is Verb.EXECUTE and execution.windowed:
        # What is done now can be taken back from now on, however long ago it was first tried.
        opens_ms, closes_ms = moment.now_ms, moment.now_ms + proposal.window_s * 1000
        again = replace(again, window_opens_at_ms=opens_ms, window_closes_at_ms=closes_ms)
    told: dict[str, Any] = {"doubted": doubted}
    if person and execution.verb is Verb.ROLL_BACK and tool is not None:
        told["call"] = call_print_of(tool)  # from now on it is taken back as this person has it
    return _begin(tx, moment, proposal, again, EventKind.CALLED_AGAIN, by, told)


def _claim(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    verb: Verb,
    cause: Cause,
    details: Mapping[str, Any] | None = None,
) -> Claim:
    claimed = replace(begun(proposal), verb=verb, attempt=1, tries=1, cause=cause, doubted=False)
    told = {**(details or {}), "words": cause.words}
    return _begin(tx, moment, proposal, claimed, _CLAIMS[verb], cause.by, told)


def _which(execution: Execution) -> dict[str, Any]:
    """Return what the entry of every claim tells: which call it is, and until when its window is
    open (ms UTC)."""
    return {
        "verb": execution.verb.value,
        "attempt": execution.attempt,
        "tries": execution.tries,
        "window_closes_at_ms": execution.window_closes_at_ms,
    }


def _called_as(execution: Execution, tool: ToolPolicy | None) -> dict[str, Any]:
    """Return what the entry tells besides of a beginning anew: whether a commit follows, and how
    the tool is called.

    It is told of a tool that commits nothing, too: else the entry before, of another config, would
    still say how.
    """
    if execution.verb is not Verb.EXECUTE or tool is None:
        return {}
    return {"deferred": execution.deferred, "call": call_print_of(tool)}


def _begin(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    kind: EventKind,
    by: Identity,
    details: Mapping[str, Any],
) -> Claim:
    """Write the intent to call, with its permit, before the call.

    The entry names the actor of the cause, or `by` if the call has no cause; it tells `details`
    too.
    """
    tool = moment.policy.tools.get(proposal.tool)
    token = _NO_PERMIT
    if tool is not None:
        token = grant(tx, moment, proposal, tool, execution.verb, execution.attempt)
    cause = execution.cause
    running = replace(execution, outcome=Outcome.RUNNING, began_at_ms=moment.now_ms, explanation="")
    claimed = amend(
        tx,
        moment,
        proposal,
        kind,
        cause.by if cause else by,
        reason=cause.reason if cause else None,
        sender=decided_by(tx, proposal.proposal_id, cause.by, execution.verb) if cause else None,
        details={
            **details,
            **_which(execution),
            **_called_as(execution, tool),
        },
        execution=running,
        attention=None,
        attention_why="",
        kept_stop=None if execution.verb is Verb.ROLL_BACK else proposal.kept_stop,
    )
    return Claim(claimed, token)
