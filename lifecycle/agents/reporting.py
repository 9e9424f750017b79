"""Take what an agent reports of a call it made itself: in time, late or never (section 7).

It is the second half of a tool of kind `agent`; `agent_tools.py` is the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lifecycle.agents.agent_tools import is_its_agent
from lifecycle.agents.refusing import note_refused
from lifecycle.announcing import announce
from lifecycle.answers import Reply, Sender
from lifecycle.calls.calling import CallResult, result_of
from lifecycle.calls.concluding import conclude
from lifecycle.calls.envelope import may_be_judged
from lifecycle.calls.framing import frame_for
from lifecycle.calls.mishaps import unknown
from lifecycle.copied import brought_back_ms
from lifecycle.document import TimeWindow
from lifecycle.door import amend, record
from lifecycle.errors import GovernanceError, PermitRefused
from lifecycle.event_kinds import EventKind
from lifecycle.expiry import as_seen
from lifecycle.moment import Moment
from lifecycle.people.acts import decided_words
from lifecycle.permit import LONGEST_VALIDITY_MS
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Execution, Outcome, Proposal, Verb
from lifecycle.windows import call_limit_ms
from lifecycle.world import World

#: The outcome of an agent that reports `done` at a door that knows of no beginning. It ends no call
#: that is awaited, which may be another one.
DONE_UNBEGUN: Final = "done_unbegun"
_LATE: Final = "Its agent reported later:"
_NOT_RECORDED: Final = (
    "The audit trail cannot be written, so your receipt is not recorded; report it again later."
)
#: The reasons of ends that say that nothing happened: by a person's word, or by the agent's own.
_NOTHING_DONE: Final = {
    "did_not_happen": "was settled as: did not happen",
    "tool_failed": "was reported as failed, with nothing left behind",
}
_IN_A_COPY: Final = (
    "stood in a copy of the database that was brought back, which does not know that it began"
)


_SETTLED: Final = "No receipt is awaited any more: what became of it is on record."


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent says of what it did: `done`, `failed`, `unknown` or DONE_UNBEGUN, with the
    receipt."""

    outcome: str
    receipt: Mapping[str, Any]


async def report(world: World, proposal_id: str, sender: Sender, said: Report) -> Reply:
    """Take the agent's receipt; `failed` says that nothing was left behind.

    Refusals and a store that fails become replies.
    """
    moment = world.moment()
    try:
        return await world.write(lambda tx: _reported(tx, moment, proposal_id, sender, said))
    except GovernanceError as error:
        await note_refused(world, sender, error.code, proposal_id)
        return Reply.of_error(error, proposal_id)
    except StoreUnavailable:
        return Reply(_NOT_RECORDED, "audit_unavailable", proposal_id)


def is_overdue(moment: Moment, proposal: Proposal) -> bool:
    """Return True if an agent redeemed its permit and should have reported by now.

    It has as long as a tool of ours would.
    """
    tool, execution = moment.policy.tools.get(proposal.tool), proposal.execution
    if execution is None or execution.outcome is not Outcome.RUNNING:
        return False
    timeout_s = tool.timeout_s if tool else LONGEST_VALIDITY_MS // 1000
    limit_ms = call_limit_ms(timeout_s, _time_window(proposal))
    return moment.now_ms >= execution.began_at_ms + limit_ms


def _time_window(proposal: Proposal) -> TimeWindow | None:
    try:
        return proposal.read().time_window
    except ValueError:
        return None  # somebody changed the row, so it bounds nothing


def overdue(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Call for a person if an agent redeemed its permit and did not report in time."""
    if not is_overdue(moment, proposal):
        return proposal
    return unknown(tx, moment, proposal, "The agent redeemed its permit and sent no receipt.")


def _reported(
    tx: Transaction, moment: Moment, proposal_id: str, sender: Sender, said: Report
) -> Reply:
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        raise PermitRefused("proposal_not_found", "No proposal has this id.")
    execution = proposal.execution
    _may_report(moment, proposal, sender, said)
    if execution is not None and execution.outcome is Outcome.UNKNOWN:
        return _late(tx, moment, proposal, execution, said)
    if execution is None or execution.outcome is not Outcome.RUNNING:
        if said.outcome in ("done", DONE_UNBEGUN) and _counts_as_not_done(tx, proposal):
            return _contradicted(tx, moment, proposal, said.receipt)
        raise _unawaited(as_seen(proposal, moment.now_ms))
    if execution.verb is not Verb.EXECUTE:
        raise PermitRefused("permit_mismatch", "An agent reports what it executed, nothing else.")
    result = _result(proposal, execution, said)
    ended = conclude(tx, moment, proposal, execution, result).proposal
    return Reply("The receipt is recorded.", None, ended.proposal_id, ended.state.value)


def _may_report(moment: Moment, proposal: Proposal, sender: Sender, said: Report) -> None:
    """Raise PermitRefused unless this sender may say what became of the proposal's call."""
    if not is_its_agent(moment, proposal, sender):
        raise PermitRefused("permit_mismatch", "Only the agent that redeemed can report.")
    execution = proposal.execution
    if execution is None:
        return
    if not execution.by_agent:
        raise PermitRefused("permit_mismatch", "Its tool answers here, not its agent.")
    awaited = execution.outcome in (Outcome.RUNNING, Outcome.UNKNOWN)
    if awaited and said.outcome == DONE_UNBEGUN:
        raise PermitRefused("permit_mismatch", "Another call has begun it, and reports.")


def _unawaited(proposal: Proposal) -> PermitRefused:
    """Return why no receipt is awaited, and what its agent can do.

    Where nothing began no permit was used up: the agent may still redeem the one that waits.
    """
    if proposal.execution is not None:
        return PermitRefused("permit_already_consumed", _SETTLED)
    if proposal.terminal:
        return PermitRefused("already_decided", decided_words(proposal))
    return PermitRefused("nothing_to_settle", "Nothing has begun: redeem its permit, then report.")


def _counts_as_not_done(tx: Transaction, proposal: Proposal) -> bool:
    """Return True if by its row it did not happen, though an agent may have done it.

    Either it ended as something that did not happen; or it stood in a restored copy that does not
    know that it began, and may have begun before the restore.
    """
    if proposal.reason in _NOTHING_DONE:
        return True
    since_ms = brought_back_ms(tx, proposal) if proposal.execution is None else 0
    ended_ms = proposal.decided_at_ms
    return since_ms > 0 and (ended_ms is None or ended_ms >= since_ms)


def _contradicted(
    tx: Transaction, moment: Moment, proposal: Proposal, receipt: Mapping[str, Any]
) -> Reply:
    """Keep in the trail that an agent reports done what counts as not done, and tell people once.

    Raises PermitRefused if the agent has reported so before: whoever settled it then could see
    that. A late `failed` is no contradiction.
    """
    if _said_done(tx, proposal):
        raise PermitRefused("permit_already_consumed", _SETTLED)
    ended = _NOTHING_DONE.get(str(proposal.reason), _IN_A_COPY)
    result = result_of(proposal.tool, Verb.EXECUTE.value, receipt)
    frame = frame_for(moment.policy, proposal, result) if result.receipt else None
    told = {"outcome": "done", "result": frame}
    record(tx, moment, EventKind.LATE_RECEIPT, proposal.actor, proposal=proposal, details=told)
    words = (
        f"{proposal.proposal_id} ({proposal.tool}) {ended}. Its agent {proposal.actor.id} now "
        "reports that it did happen. Look, and take back by hand what must not stand."
    )
    announce(tx, moment, f"contradicted:{proposal.proposal_id}", words, proposal.proposal_id)
    return Reply(
        f"It {ended}. Your receipt is kept, and people are told.",
        "already_decided",
        proposal.proposal_id,
        proposal.state.value,
    )


def _said_done(tx: Transaction, proposal: Proposal) -> bool:
    """Return True if its agent has reported late that it was done."""
    return any(
        entry.event.kind == EventKind.LATE_RECEIPT and entry.event.details.get("outcome") == "done"
        for entry in tx.audit.without_attempts(proposal.proposal_id)
    )


def _result(proposal: Proposal, execution: Execution, said: Report) -> CallResult:
    match said.outcome:
        case "done" if not may_be_judged(proposal):  # an unknown outcome, as for a tool of ours
            words = "The agent reported that it was done, which could not be judged."
            return CallResult(Outcome.UNKNOWN, None, words)
        case "done":
            return result_of(proposal.tool, execution.verb.value, said.receipt)
        case "failed":
            told = result_of(proposal.tool, execution.verb.value, said.receipt)
            why = "The agent reported a failure."
            return replace(told, outcome=Outcome.FAILED, explanation=why)
        case "unknown":
            words = "The agent reported a failure and cannot say what was left behind."
            return CallResult(Outcome.UNKNOWN, None, words)
        case _:
            raise PermitRefused("permit_mismatch", "outcome must be done or failed.")


def _late(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    execution: Execution,
    told: Report,
) -> Reply:
    """Keep a late report for whoever settles the outcome; it decides nothing by itself any more.

    Each outcome is kept once: an agent that corrects itself leaves both reports for a person to
    weigh.
    """
    said = f"{_LATE} {told.outcome}."
    if told.outcome not in ("done", "failed") or said in proposal.attention_why:
        raise PermitRefused("permit_already_consumed", _SETTLED)
    done = told.outcome == "done"
    result = result_of(proposal.tool, execution.verb.value, told.receipt)
    kept = result.receipt
    frame = frame_for(moment.policy, proposal, result) if kept else None
    amend(
        tx,
        moment,
        proposal,
        EventKind.LATE_RECEIPT,
        proposal.actor,
        details={"outcome": told.outcome, "result": frame},
        attention_why=f"{proposal.attention_why} {said}",
        frame=frame if frame and (done or not proposal.frame) else proposal.frame,
        execution=replace(execution, receipt=kept) if done else execution,
    )
    words = "It came too late to decide: the outcome counts as unknown. It is kept for whoever "
    return Reply(f"{words}settles it.", "already_decided", proposal.proposal_id)
