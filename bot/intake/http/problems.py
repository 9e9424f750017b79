"""Write refusals as RFC 9457 problem documents with the answer object of design section 8."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.responses import Response

from lifecycle.answers import Answer, Reply, refusal
from lifecycle.codes import Retry, retry_of
from lifecycle.errors import Refused
from lifecycle.text.masking import mask_text

PROBLEM_TYPE: Final = "application/problem+json"
_LATER_S: Final = 60
_PASSES_BY_ITSELF: Final = frozenset({408, 429, 500, 503})


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a JSON body."""
    data = orjson.dumps(content)
    return Response(data, status, dict(headers or {}), media_type="application/json")


def problem(
    status: int,
    detail: str,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Response:
    """Return a problem document; without a code it says what the HTTP status says.

    Each has `reason` and `retry`; `reason` is null if there is no code.
    """
    content: dict[str, Any] = {
        "type": f"urn:signoff:problem:{code}" if code else "about:blank",
        "title": code.replace("_", " ") if code else HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "error": code,
        "reason": code,
        "retry": (retry_of(code) if code else _retry_of_status(status)).value,
        **members,
    }
    sent = dict(headers or {})
    if status in (429, 503):
        seconds = members.get("retry_after_s") or _LATER_S
        content["retry_after_s"] = seconds
        sent["Retry-After"] = str(seconds)
    if status == HTTPStatus.UNAUTHORIZED:
        sent["WWW-Authenticate"] = "Bearer"
    return Response(orjson.dumps(content), status, sent, media_type=PROBLEM_TYPE)


def _retry_of_status(status: int) -> Retry:
    """Return what an HTTP status means for a client that would send the same again."""
    return Retry.LATER if status in _PASSES_BY_ITSELF else Retry.AFTER_CHANGE


def answer_problem(status: int, answer: Answer, headers: Mapping[str, str]) -> Response:
    """Return an answer that says no as a problem document."""
    detail = answer.explanation or (answer.reason or "").replace("_", " ")
    return problem(status, detail, code=answer.reason, headers=headers, **answer.as_json())


def refused_problem(status: int, error: Refused) -> Response:
    """Return a refusal as a problem document."""
    return answer_problem(status, refusal(error), {})


def reply_problem(status: int, reply: Reply, **members: Any) -> Response:
    """Return a reply that says no as a problem document."""
    retry = retry_of(reply.code) if reply.code else Retry.NEVER
    content = {
        "proposal_id": reply.proposal_id,
        "state": reply.state,
        "reason": reply.code,
        "explanation": reply.words,
        "retry": retry.value,
        **members,
    }
    return problem(status, reply.words, code=reply.code, **content)


def unauthorized(detail: str = "") -> Response:
    """Return the answer to a sender without a known token."""
    words = detail or "Send Authorization: Bearer <token> with the token of an agent or source."
    return problem(401, words, code="unknown_agent")


def unknown_proposal(proposal_id: str) -> Response:
    """Return the answer about a proposal not there or another's; it does not tell which."""
    return problem(
        404,
        "You have no proposal with this id.",
        code="unknown_proposal",
        proposal_id=mask_text(proposal_id)[:64],
    )
