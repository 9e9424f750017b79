"""Read what AAP sends, strictly, and write what it is answered."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.responses import Response

from bot.intake.http.problems import PROBLEM_TYPE, json_response
from lifecycle.text.masking import mask_text

_KNOWN: Final = {
    "tool": str,
    "server": str,
    "arguments": dict,
    "timeout": str,
    "agent_reasoning": str,
    "context": dict,
}
_NAMES: Final = {str: "a string", dict: "an object"}
_NEEDED: Final = ("tool", "arguments", "timeout")
_TIMEOUT: Final = re.compile(r"(?:[0-9]{1,7}[smhd]){1,4}")
_PART: Final = re.compile(r"([0-9]+)([smhd])")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST_S: Final = 604_800 - 60
LONGEST_KEY: Final = 512
_TYPES: Final = {
    400: "invalid_request",
    401: "unauthorized",
    404: "not_found",
    408: "invalid_request",
    409: "conflict",
    413: "invalid_request",
    415: "invalid_request",
}
#: The headers of an answer that the connection needs.
_KEPT_HEADERS: Final = frozenset({"connection", "accept-encoding"})


class AapRefused(Exception):
    """The call does not keep to the protocol, or conflicts with what was done before."""

    def __init__(self, status: int, code: str, message: str, retry_after_s: int = 0) -> None:
        """Name the HTTP status, AAP's code and a sentence."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


def unauthorized() -> AapRefused:
    """Return the refusal of a sender who is no agent, or is none any more."""
    return AapRefused(401, "unauthorized", "Send the bearer token of an agent.")


class Misshapen(AapRefused):
    """What came is no submission."""

    def __init__(self, fault: str, message: str, code: str = "invalid_request") -> None:
        """Name the fault by a code of ours, for the trail; AAP has a code of its own."""
        super().__init__(400, code, message)
        self.fault = fault


def submission_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a submission as it was sent. Raises Misshapen for what AAP does not have."""
    for key, value in body.items():
        if key not in _KNOWN:
            raise Misshapen("unknown_field", f"{mask_text(key)[:64]} is no field of a submission.")
        if not isinstance(value, _KNOWN[key]):
            words = "leave it out, or send" if key not in _NEEDED else "send"
            raise Misshapen("wrong_type", f"{key}: {words} {_NAMES[_KNOWN[key]]}.")
    missing = [key for key in _NEEDED if key not in body]
    if missing or not body["tool"]:
        raise Misshapen("wrong_type", f"Needed: {', '.join(_NEEDED)}.")
    seconds(body["timeout"])
    return dict(body)


def seconds(text: str) -> int:
    """Return a duration like `10m` or `1h30m` in seconds. Raises Misshapen."""
    if not _TIMEOUT.fullmatch(text):
        raise Misshapen("wrong_type", "A duration is written like 30s, 10m or 24h.")
    total = sum(int(count) * _UNIT_S[unit] for count, unit in _PART.findall(text))
    if total < 1:
        raise Misshapen("wrong_type", "A duration is at least one second.")
    return min(total, LONGEST_S)


def key_of(given: Sequence[str]) -> str:
    """Return the idempotency key. Raises Misshapen if it is missing, or given twice.

    A proxy could have gone by one of two, and we by the other.
    """
    if len(given) != 1 or not 0 < len(given[0]) <= LONGEST_KEY:
        words = f"Send one Idempotency-Key of 1 to {LONGEST_KEY} characters."
        raise Misshapen("invalid_identifier", words, "missing_idempotency_key")
    return given[0]


def error(refused: AapRefused) -> Response:
    """Return an error as AAP writes it."""
    content = {
        "error": {
            "type": _TYPES.get(refused.status, "unavailable"),
            "code": refused.code,
            "message": str(refused),
            "request_id": str(uuid.uuid4()),
        }
    }
    headers = {"Retry-After": str(refused.retry_after_s)} if refused.retry_after_s else {}
    if refused.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return json_response(content, refused.status, headers)


def as_error(answer: Response) -> Response:
    """Return a problem document, which every door may answer, in the form of AAP.

    Any other answer is returned as it is.
    """
    if answer.media_type != PROBLEM_TYPE:
        return answer
    told = orjson.loads(answer.body)
    code, later_s = told["reason"] or "invalid_request", told.get("retry_after_s", 0)
    written = error(AapRefused(told["status"], code, told["detail"], later_s))
    for name in _KEPT_HEADERS & set(answer.headers):
        written.headers[name] = answer.headers[name]
    return written
