"""What a person settles: an unknown outcome, and the repeat of a verb that failed (section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, assert_never

from lifecycle.acts import Act, Reviewed, found
from lifecycle.agreeing import stands_as_told
from lifecycle.answers import Reply
from lifecycle.claiming import reclaim
from lifecycle.concluding import after_execute, commit_not_done, roll_back_done
from lifecycle.door import advance, amend
from lifecycle.errors import ReviewRefused
from lifecycle.finishing import Concluded
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import stands_still
from lifecycle.mishaps import rollback_incomplete
from lifecycle.moment import Moment
from lifecycle.opening import still_true
from lifecycle.ports import Transaction
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Cause,
    Execution,
    Identity,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.quorum import configured_tier
from lifecycle.sentinel import Facts
from lifecycle.state import Trigger
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Verdict

_REPEATABLE = frozenset(
    {Attention.OUTCOME_UNKNOWN, Attention.COMMIT_FAILED, Attention.ROLLBACK_INCOMPLETE}
)


class CheckAgain(Exception):
    """Policy or evidence is another one than Sentinel was asked about."""


def settle(tx: Transaction, moment: Moment, act: Act, *, happened: bool) -> Reviewed:
    """Write what a person found out about a call whose outcome nobody knew.

    Raises ReviewRefused nothing_to_settle, still_running, not_a_reviewer.
    """
    proposal = found(tx, moment, act)
    by = _reviewer(moment, proposal, act)
    if proposal.attention is Attention.ENVELOPE_EXCEEDED and happened:
        return _seen(tx, moment, proposal, act, by)
    execution = proposal.execution
    if execution is not None and execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("still_running", "The tool has not answered yet; wait for it.")
    if execution is None or not _in_doubt(proposal, execution, happened=happened):
        raise ReviewRefused(
            "nothing_to_settle", f"No outcome of {proposal.proposal_id} is unknown."
        )
    noted = amend(
        tx,
        moment,
        proposal,
        "settled",
        by,
        sender=act.sender,
        details={"verb": execution.verb.value, "happened": happened},
        execution=replace(execution, doubted=False),
        attention=None,
        attention_why="",
    )
    concluded = (
        _happened(tx, moment, noted, by) if happened else _did_not_happen(tx, moment, noted, by)
    )
    return _reviewed(concluded, "Settled.")


def _in_doubt(proposal: Proposal, execution: Execution, *, happened: bool) -> bool:
    """Say whether a person's word settles something: an unknown outcome, or what no tool takes
    back and somebody took back by hand (ADR 0012)."""
    incomplete = proposal.attention is Attention.ROLLBACK_INCOMPLETE
    by_hand = happened and incomplete and execution.verb is Verb.ROLL_BACK
    return by_hand or execution.outcome is Outcome.UNKNOWN


def retry(
    tx: Transaction, moment: Moment, act: Act, *, checked: tuple[Facts, Verdict] | None
) -> Reviewed:
    """Repeat the failed verb with a new attempt and permit, where Sentinel has nothing against it.

    Raises ReviewRefused nothing_to_settle, still_running, not_a_reviewer, tool_blocked,
    already_decided, frozen, digest_mismatch, permit_already_consumed, or with the id of the rule
    that objects; CheckAgain where `checked` is of another policy or other evidence.
    """
    proposal = found(tx, moment, act)
    _reviewer(moment, proposal, act)
    execution = proposal.execution
    if execution is not None and execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("still_running", "The tool has not answered yet; wait for it.")
    if execution is None or proposal.attention not in _REPEATABLE:
        raise ReviewRefused("nothing_to_settle", f"Nothing of {proposal.proposal_id} has failed.")
    if execution.verb is not Verb.ROLL_BACK:
        _may_act_again(tx, moment, proposal)
        _sentinel_agrees(tx, moment, proposal, checked)
    claim = reclaim(tx, moment, proposal, person=True)
    concluded = Concluded(claim.proposal, claim if claim.token else None)
    return _reviewed(concluded, f"{execution.verb.value} is tried again.")


def _sentinel_agrees(
    tx: Transaction, moment: Moment, proposal: Proposal, checked: tuple[Facts, Verdict] | None
) -> None:
    if checked is None or not still_true(tx, moment, proposal, checked[1], checked[0]):
        raise CheckAgain
    verdict = checked[1]
    if not verdict.passed:
        words = "; ".join(fault.suggestion or fault.code for fault in verdict.faults())
        raise ReviewRefused(str(verdict.reason), f"Sentinel objects now: {words}")


def _may_act_again(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Raise ReviewRefused where execute or commit must not be called again; now, or ever."""
    tool = moment.policy.tools.get(proposal.tool)
    if tool is None or configured_tier(tool) is Tier.BLOCK:
        raise ReviewRefused("tool_blocked", f"{proposal.tool} may not be used any more.")
    if proposal.execution is not None and proposal.execution.by_agent:
        raise ReviewRefused(
            "permit_already_consumed",
            f"{proposal.actor.id} carries this out itself, and has used its permit. Find out what "
            f"happened, then settle {proposal.proposal_id} happened | did-not-happen; to try it "
            "again the agent proposes it again.",
        )
    if proposal.kept_stop is not None:
        raise ReviewRefused(
            "already_decided",
            f"{proposal.kept_stop.person} has stopped it, so it is not tried again: find out what "
            f"happened, then settle {proposal.proposal_id} happened | did-not-happen",
        )
    still = stands_still(tx, moment, proposal)
    if still is not None:
        raise ReviewRefused("frozen", f"It stands still and waits for: {still}. Retry after that.")
    if not (fits_its_digest(proposal) and stands_as_told(tx, proposal)):
        raise ReviewRefused(
            "digest_mismatch",
            "The stored row no longer fits what was approved; it is not called again. Somebody "
            "changed the database.",
        )


def _reviewer(moment: Moment, proposal: Proposal, act: Act) -> Identity:
    sender, tool = act.sender, moment.policy.tools.get(proposal.tool)
    if sender.kind is not ActorKind.PERSON or sender.id is None or sender.id in act.lost:
        _refuse()
    group = tool.reviewers if tool else "approvers"
    if sender.id not in moment.policy.group(group):
        _refuse()
    return Identity(ActorKind.PERSON, sender.id)


def _refuse() -> NoReturn:
    raise ReviewRefused("not_a_reviewer", "Only reviewers settle and retry.")


def _seen(tx: Transaction, moment: Moment, proposal: Proposal, act: Act, by: Identity) -> Reviewed:
    cleared = amend(
        tx,
        moment,
        proposal,
        "settled",
        by,
        sender=act.sender,
        details={"attention": Attention.ENVELOPE_EXCEEDED.value},
        attention=None,
        attention_why="",
    )
    return _reviewed(Concluded(cleared), "Noted as seen.")


def _happened(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Concluded:
    execution = proposal.execution
    if execution is None:
        return Concluded(proposal)
    match execution.verb:
        case Verb.EXECUTE:
            closes_at_ms = moment.now_ms + proposal.window_s * 1000 if execution.windowed else None
            done = amend(
                tx,
                moment,
                proposal,
                "execute_happened",
                by,
                details={"window_closes_at_ms": closes_at_ms},
                execution=replace(
                    execution,
                    outcome=Outcome.DONE,
                    receipt=execution.receipt or {},
                    window_opens_at_ms=moment.now_ms if closes_at_ms else None,
                    window_closes_at_ms=closes_at_ms,
                ),
            )
            return after_execute(tx, moment, done, by)
        case Verb.COMMIT:
            return Concluded(_commit_happened(tx, moment, proposal, by))
        case Verb.ROLL_BACK:
            return Concluded(roll_back_done(tx, moment, proposal))
        case _:
            assert_never(execution.verb)


def _commit_happened(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Proposal:
    execution = proposal.execution
    cause = execution.cause if execution else None
    cause = cause or Cause(by, Puller.PERSON, "tool_succeeded", "A person found it done.")
    return advance(
        tx,
        moment,
        proposal,
        Trigger.COMPLETE,
        cause.by,
        cause.puller,
        reason=cause.reason,
        explanation=cause.words,
        execution=replace(execution, outcome=Outcome.DONE) if execution else None,
    )


def _did_not_happen(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Concluded:
    execution = proposal.execution
    if execution is None:
        return Concluded(proposal)
    words = f"{by.id} found that it did not happen."
    match execution.verb:
        case Verb.EXECUTE:
            ended = advance(
                tx,
                moment,
                proposal,
                Trigger.ROLL_BACK,
                by,
                Puller.PERSON,
                reason="did_not_happen",
                explanation=words,
                execution=replace(execution, outcome=Outcome.FAILED),
            )
            return Concluded(ended)
        case Verb.COMMIT:
            return commit_not_done(tx, moment, proposal, words)
        case Verb.ROLL_BACK:
            stands = execution.still_stands
            return Concluded(rollback_incomplete(tx, moment, proposal, words, stands))
        case _:
            assert_never(execution.verb)


def _reviewed(concluded: Concluded, words: str) -> Reviewed:
    proposal = concluded.proposal
    return Reviewed(
        Reply(
            f"{words} {proposal.proposal_id} is {proposal.state}.",
            proposal_id=proposal.proposal_id,
            state=proposal.state.value,
        ),
        proposal,
        concluded.claim,
    )
