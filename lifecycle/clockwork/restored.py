"""Put in question what is open in a copy of the database that is brought back.

The copy does not know what happened after it was made, and nothing may run twice by itself (section
7); so a person decides first. A proposal that waits for people needs new approvals. One that would
begin without people ends. One that is under way or in its window becomes an unknown outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from lifecycle.calls.mishaps import unknown
from lifecycle.copied import WHY, note_copy
from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.freezing import freeze_restored
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import CLOCK, SENTINEL, Cause, Execution, Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.text.masking import plain_words
from lifecycle.tier import Puller
from lifecycle.verdicts.effective_terms import revoke_permit
from lifecycle.verdicts.judge import policy_changed
from lifecycle.windows import defers

_PAGE: Final = 500


def bring_back(tx: Transaction, moment: Moment, copy: str) -> int:
    """Freeze, and put in question all that `copy` has open; return how many proposals that is.

    A ✅ that stands under a card of one of them counts as no new decision (`is_of_a_copy`), and no
    proposer is told that nothing was run.
    """
    freeze_restored(tx, moment, plain_words(copy))
    note_copy(tx, moment)
    in_question = open_ids(tx)
    for proposal_id in in_question:
        proposal = tx.proposals.get(proposal_id)
        if proposal is not None:
            _put_in_question(tx, moment, proposal)
    return len(in_question)


def open_ids(tx: Transaction) -> Sequence[str]:
    """Return the ids of all open proposals that can be read."""
    found: list[str] = []
    for listed in (tx.proposals.waiting, tx.proposals.executing):
        offset = 0
        while page := listed(offset, _PAGE):
            found += [proposal.proposal_id for proposal in page]
            offset += _PAGE
    return found


def _put_in_question(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    match proposal.state:
        case State.PENDING:
            _ended(tx, moment, proposal)
        case State.SENTINEL_APPROVED:
            if proposal.opener is not None and proposal.opener_puller is not Puller.PERSON:
                _ended(tx, moment, proposal)
            else:
                _unapproved(tx, moment, proposal)
        case State.EXECUTING:
            _doubted(tx, moment, proposal)
        case State.COMPLETED | State.ROLLED_BACK | State.REJECTED:
            return
        case _:
            assert_never(proposal.state)


def _ended(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """End a proposal that would go on without anybody's decision."""
    policy_changed(tx, moment, proposal, "It would have begun by itself.")


def _unapproved(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    void = tx.reviews.void(proposal.proposal_id, None, "the database was brought back from a copy")
    amend(
        tx,
        moment,
        proposal,
        EventKind.RESTORED,
        SENTINEL,
        details={"approvals_void": void},
        **{"opener": None, "opener_puller": None, "waiting_for": None}
        | revoke_permit(tx, moment, proposal),
    )


def _doubted(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    execution = proposal.execution
    if execution is None or execution.by_agent:
        return  # an agent carries it out itself, and reports or is asked about
    match execution.outcome:
        case Outcome.RUNNING:
            unknown(tx, moment, proposal, WHY)
        case Outcome.DONE if execution.verb is Verb.EXECUTE and execution.windowed:
            unknown(tx, moment, proposal.but(execution=_next(moment, proposal, execution)), WHY)
        case Outcome.FAILED:  # it may have been tried again since the copy was made
            unknown(tx, moment, proposal, WHY)
        case _:
            return


def _next(moment: Moment, proposal: Proposal, execution: Execution) -> Execution:
    """Return the execution as it may have gone on since the copy was made: with a commit by the
    clock.

    It stays as it is if its tool is known to have no commit.
    """
    if not execution.stages(by_config=defers(moment.policy.tools.get(proposal.tool))):
        return execution
    words = "Nobody objected before the window closed."
    cause = Cause(CLOCK, Puller.CLOCK, "window_closed_unopposed", words)
    return replace(execution, verb=Verb.COMMIT, attempt=1, tries=1, cause=cause)
