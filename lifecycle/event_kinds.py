"""The closed list of what an audit event may tell beside the moves of the lifecycle.

A move has the name of its trigger (`lifecycle.state`). docs/lifecycle.md says what each kind means.
The trail keeps the value, so a value never changes: entries of years ago are read by it.
"""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """What happened, or was attempted, without a change of state."""

    # a proposal arrives
    SUBMITTED = "submitted"
    DEDUPLICATED = "deduplicated"
    REFUSED = "refused"
    CHECKED = "checked"
    # people decide
    REVIEWED = "reviewed"
    APPROVAL_TAKEN_BACK = "approval_taken_back"
    QUORUM_COUNTED = "quorum_counted"
    OPENED = "opened"
    IGNORED = "ignored"
    REASON_GIVEN = "reason_given"
    NO_REASON_GIVEN = "no_reason_given"
    # cards
    CARD_POSTED = "card_posted"
    CARD_DELIVERED = "card_delivered"
    CARD_HIDDEN = "card_hidden"
    CARD_CLEARED = "card_cleared"
    CARD_DELETED = "card_deleted"
    # it is judged again, or waits
    RAISED = "raised"
    RECHECKED = "rechecked"
    CHECK_OWED = "check_owed"
    CHECK_PAID = "check_paid"
    WAITING = "waiting"
    REMINDED = "reminded"
    # an agent carries it out
    PERMIT_HANDED_OVER = "permit_handed_over"
    PERMIT_REFUSED = "permit_refused"
    LATE_RECEIPT = "late_receipt"
    # tools are called
    TOOL_DONE = "tool_done"
    STAGED = "staged"
    COMMIT_CLAIMED = "commit_claimed"
    COMMIT_FAILED = "commit_failed"
    ROLL_BACK_CLAIMED = "roll_back_claimed"
    CALLED_AGAIN = "called_again"
    NOT_CLOSED = "not_closed"
    # somebody stops it, or has to look
    STOPPED = "stopped"
    STOP_KEPT = "stop_kept"
    STOP_LET_GO = "stop_let_go"
    ATTENTION = "attention"
    SETTLED = "settled"
    EXECUTE_HAPPENED = "execute_happened"
    RETRIED = "retried"
    # of no one proposal, or of all
    QUESTION_ASKED = "question_asked"
    QUESTION_ANSWERED = "question_answered"
    EVIDENCE_RECORDED = "evidence_recorded"
    POLICY_ADOPTED = "policy_adopted"
    ANCHORED = "anchored"
    MOVED_ALONG = "moved_along"
    FROZEN = "frozen"
    THAWED = "thawed"
    RESTORED = "restored"
