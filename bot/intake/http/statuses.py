"""Map answers to HTTP statuses in one table, so that every door says the same."""

from __future__ import annotations

from typing import Final

from lifecycle.answers import Answer, AuthorityOutcome
from lifecycle.codes import AUTHORITY
from lifecycle.state import State

_NOT_JSON: Final = frozenset(
    {"malformed_json", "invalid_unicode", "duplicate_key", "non_finite_number"}
)
_BY_CODE: Final = {
    "too_large": 413,
    "id_conflict": 409,
    "unknown_agent": 401,
    "rate_limited": 429,
    "too_many_open": 429,
    "previously_rejected": 429,
    "tool_blocked": 403,
    "not_a_source": 403,
    "audit_unavailable": 503,
    "frozen": 503,
    "rule_timeout": 503,
    "unknown_proposal": 404,
    "proposal_not_found": 404,
    "permit_already_consumed": 409,
    "already_decided": 409,
    "window_closed": 409,
    "still_running": 409,
    "nothing_to_settle": 409,
    "digest_mismatch": 409,
    "permit_expired": 410,
    "permit_not_yet_valid": 409,
    "permit_mismatch": 403,
    "permit_signature_invalid": 403,
    "not_the_proposer": 403,
}
_BY_CODE_OF_ANSWERS: Final = _BY_CODE | {"rule_timeout": 422}


def status_of(answer: Answer) -> int:
    """Return the status of an answer to a submission."""
    if answer.deduplicated:
        return 200
    if answer.state is not None:
        return _of_state(State(answer.state), answer.reason)
    return 202 if answer.reason is None else refusal_status(answer.reason, answer.outcome)


def refusal_status(code: str, outcome: AuthorityOutcome = AuthorityOutcome.DENY) -> int:
    """Return the status of a refusal before there is a proposal."""
    if code in _NOT_JSON:
        return 400
    if code in _BY_CODE_OF_ANSWERS:
        return _BY_CODE_OF_ANSWERS[code]
    denied = code in AUTHORITY and outcome is AuthorityOutcome.DENY
    return 403 if denied and code != "insufficient_justification" else 422


def reply_status(code: str | None) -> int:
    """Return the status of a reply to an act."""
    if code is None:
        return 200
    return 400 if code in _NOT_JSON else _BY_CODE.get(code, 422)


def _of_state(state: State, reason: str | None) -> int:
    match state:
        case State.PENDING | State.SENTINEL_APPROVED | State.EXECUTING:
            return 202
        case State.COMPLETED | State.ROLLED_BACK:
            return 201
        case State.REJECTED:
            return 403 if reason == "tool_blocked" else 422
