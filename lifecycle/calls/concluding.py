"""Write what the answer of a tool makes of its proposal (design section 7).

`Carrier` calls `conclude` in a unit of the store once a call has ended; an agent's report does too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.calls.calling import CallResult
from lifecycle.calls.claiming import claim_kept_stop
from lifecycle.calls.envelope import envelope_excess, may_be_judged
from lifecycle.calls.finishing import (
    Concluded,
    claimed,
    complete,
    finish,
    taken_back_by_sentinel,
    tool_cause,
)
from lifecycle.calls.framing import frame_for
from lifecycle.calls.mishaps import commit_failed, rollback_incomplete, tool_of, unknown
from lifecycle.deciding import decided_by
from lifecycle.door import amend, call_for_attention, end
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import (
    SENTINEL,
    ActorKind,
    Attention,
    Cause,
    Execution,
    Identity,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller
from lifecycle.windows import defers


def conclude(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    called: Execution,
    result: CallResult,
) -> Concluded:
    """Write the result of the call `called`, unless that call is not awaited any more."""
    execution = proposal.execution
    if (
        proposal.state is not State.EXECUTING
        or execution is None
        or not _awaited(execution, called)
    ):
        return Concluded(proposal)
    acts = execution.verb is not Verb.ROLL_BACK
    if acts and execution.doubted and result.outcome is Outcome.FAILED:
        # This call left nothing behind, but what became of the one before it is not known.
        result = replace(result, outcome=Outcome.UNKNOWN)
    match execution.verb:
        case Verb.EXECUTE:
            return _executed(tx, moment, proposal, execution, result)
        case Verb.COMMIT:
            return _committed(tx, moment, proposal, execution, result)
        case Verb.ROLL_BACK:
            return Concluded(_rolled_back(tx, moment, proposal, result))
        case _:
            assert_never(execution.verb)


def after_execute(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Concluded:
    """Go on after an execution that is done: take back, await the window, commit or complete."""
    execution = begun(proposal)
    if by.kind is ActorKind.PERSON and not may_be_judged(proposal):
        # A person settles it; what a tool answers is an unknown outcome then.
        excess: str | None = "what was approved was changed, and nobody knows what it allowed"
    else:
        excess = envelope_excess(proposal, execution.receipt)
    if excess is not None:
        return _exceeded(tx, moment, proposal, execution, excess)
    if proposal.kept_stop is not None and execution.windowed:
        return claimed(claim_kept_stop(tx, moment, proposal, proposal.kept_stop))
    if execution.windowed:
        return Concluded(proposal)
    cause = Cause(by, Puller.TOOL, "tool_succeeded", "The tool succeeded.")
    return finish(tx, moment, proposal, cause)


def commit_not_done(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Concluded:
    """Go on after a commit that did not happen: roll back for a kept ❌, else call for people."""
    if proposal.kept_stop is None:
        return Concluded(commit_failed(tx, moment, proposal, why))
    by = tool_of(proposal)
    failed = amend(tx, moment, proposal, EventKind.COMMIT_FAILED, by, details={"why": why})
    return claimed(claim_kept_stop(tx, moment, failed, proposal.kept_stop))


def _awaited(execution: Execution, called: Execution) -> bool:
    return (
        execution.outcome is Outcome.RUNNING
        and execution.verb is called.verb
        and execution.attempt == called.attempt
        and execution.tries == called.tries
    )


def _executed(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    result: CallResult,
) -> Concluded:
    match result.outcome:
        case Outcome.DONE:
            return _done(tx, moment, proposal, execution, result)
        case Outcome.FAILED:
            return Concluded(_failed(tx, moment, proposal, execution, result))
        case Outcome.UNKNOWN | Outcome.RUNNING:
            return Concluded(unknown(tx, moment, proposal, result.explanation))
        case _:
            assert_never(result.outcome)


def _done(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    result: CallResult,
) -> Concluded:
    """Go on after execute succeeded. If nothing can follow, that is the end, in one move."""
    by = tool_of(proposal)
    changes: dict[str, Any] = {
        "execution": replace(execution, outcome=Outcome.DONE, receipt=result.receipt),
        "frame": frame_for(moment.policy, proposal, result),
    }
    tool = moment.policy.tools.get(proposal.tool)
    stages = execution.stages(by_config=defers(tool))
    simple = tool is not None and not stages and not execution.windowed
    details: dict[str, Any] = {"receipt": digest_told(result.receipt)}
    if simple and envelope_excess(proposal, result.receipt) is None:
        cause = tool_cause(proposal)
        return Concluded(complete(tx, moment, proposal, cause, details=details, **changes))
    details |= {"verb": execution.verb.value, "attempt": execution.attempt}
    done = amend(tx, moment, proposal, EventKind.TOOL_DONE, by, details=details, **changes)
    return after_execute(tx, moment, done, by)


def _failed(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    result: CallResult,
) -> Proposal:
    """End the proposal: the tool left nothing behind, so there is nothing to take back."""
    return end(
        tx,
        moment,
        proposal,
        Trigger.ROLL_BACK,
        Cause(tool_of(proposal), Puller.TOOL, "tool_failed", result.explanation),
        execution=replace(execution, outcome=Outcome.FAILED),
        frame=_frame(moment, proposal, result),
    )


def _frame(moment: Moment, proposal: Proposal, result: CallResult) -> Mapping[str, Any] | None:
    """Return the frame of this answer, or the earlier frame if it has no receipt."""
    return frame_for(moment.policy, proposal, result) if result.receipt else proposal.frame


def _committed(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    result: CallResult,
) -> Concluded:
    match result.outcome:
        case Outcome.DONE:
            return Concluded(_final(tx, moment, proposal, execution, result))
        case Outcome.FAILED:
            return commit_not_done(tx, moment, proposal, result.explanation)
        case Outcome.UNKNOWN | Outcome.RUNNING:
            return Concluded(unknown(tx, moment, proposal, result.explanation))
        case _:
            assert_never(result.outcome)


def _final(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    result: CallResult,
) -> Proposal:
    """End a proposal that is committed; it cannot be taken back any more.

    If its receipt exceeds the envelope, a person is called.
    """
    cause, frame = execution.cause or tool_cause(proposal), _frame(moment, proposal, result)
    excess = envelope_excess(proposal, result.receipt)
    if excess is not None:
        why, by = _look_at(proposal, excess), tool_of(proposal)
        proposal = call_for_attention(tx, moment, proposal, Attention.ENVELOPE_EXCEEDED, why, by)
    done = replace(execution, outcome=Outcome.DONE)
    return complete(tx, moment, proposal, cause, execution=done, frame=frame)


def _rolled_back(
    tx: Transaction, moment: Moment, proposal: Proposal, result: CallResult
) -> Proposal:
    match result.outcome:
        case Outcome.DONE if not result.still_stands:
            return roll_back_done(tx, moment, proposal)
        case Outcome.DONE:
            why = f"{len(result.still_stands)} part(s) of what was done still stand."
            stands = tuple(result.still_stands)
            return rollback_incomplete(tx, moment, proposal, why, stands, result.handed)
        case Outcome.FAILED:
            why = result.explanation
            return rollback_incomplete(tx, moment, proposal, why, handed=result.handed)
        case Outcome.UNKNOWN | Outcome.RUNNING:
            return unknown(tx, moment, proposal, result.explanation)
        case _:
            assert_never(result.outcome)


def roll_back_done(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """End a proposal that is rolled back completely, in the name of whoever asked for that."""
    execution = begun(proposal)
    cause = execution.cause or tool_cause(proposal)
    return end(
        tx,
        moment,
        proposal,
        Trigger.ROLL_BACK,
        cause,
        sender=decided_by(tx, proposal.proposal_id, cause.by, Verb.ROLL_BACK),
        execution=replace(execution, outcome=Outcome.DONE, still_stands=()),
    )


def _exceeded(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    excess: str,
) -> Concluded:
    """Take back what exceeded the envelope if that is possible; else finish and call a person."""
    words = _went_beyond(excess)
    tool = moment.policy.tools.get(proposal.tool)
    staged = tool is not None and execution.stages(by_config=tool.deferred)
    if not execution.by_agent and (execution.windowed or staged):
        return taken_back_by_sentinel(tx, moment, proposal, words)
    why = _look_at(proposal, excess)
    marked = call_for_attention(tx, moment, proposal, Attention.ENVELOPE_EXCEEDED, why, SENTINEL)
    cause = Cause(tool_of(proposal), Puller.TOOL, "tool_succeeded", words)
    return finish(tx, moment, marked, cause)


def _went_beyond(excess: str) -> str:
    return f"The tool went beyond the envelope: {excess}."


def _look_at(proposal: Proposal, excess: str) -> str:
    """Return what a person is told of an excess that stays: what it is, and how to settle it."""
    seen = f"Look at what it did, then: settle {proposal.proposal_id} happened"
    return f"{_went_beyond(excess)} {seen}"
