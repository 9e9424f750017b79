"""Define the schemas of what is sent and answered, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from lifecycle.codes import Retry
from lifecycle.state import State
from lifecycle.tier import Tier

_STRING: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_ANY_OBJECT: Final = {"type": "object"}
_OBJECT_OR_NULL: Final = {"type": ["object", "null"]}
_STATE: Final = {"enum": [each.value for each in State]}
_STATE_OR_NULL: Final = {"enum": [*(each.value for each in State), None]}
_TIER: Final = {"enum": [each.value for each in Tier]}
_TIER_OR_NULL: Final = {"enum": [*(each.value for each in Tier), None]}
_RETRY: Final = {"enum": [*(each.value for each in Retry), None]}
_SECONDS: Final = {"type": ["integer", "null"], "minimum": 0}


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [key for key in properties if key not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _page(name: str, item: str) -> dict[str, Any]:
    return _object({name: {"type": "array", "items": _ref(item)}, "next_cursor": _TEXT_OR_NULL})


_FAULT: Final = _object(
    {
        "code": _STRING,
        "path": _STRING,
        "required": _TEXT_OR_NULL,
        "actual": _TEXT_OR_NULL,
        "suggestion": _TEXT_OR_NULL,
        "rule": _STRING,
        "level": _STRING,
    },
    optional=("rule", "level"),
)
_ANSWER: Final = {
    "proposal_id": _TEXT_OR_NULL,
    "state": _STATE_OR_NULL,
    "tier": _TIER_OR_NULL,
    "outcome": {"enum": ["allow", "ask", "deny"]},
    "reason": _TEXT_OR_NULL,
    "explanation": _STRING,
    "digest": _TEXT_OR_NULL,
    "deduplicated": {"type": "boolean"},
    "differs": {"type": "array", "items": _STRING},
    "errors": {"type": "array", "items": _ref("Fault")},
    "retry": _RETRY,
    "retry_after_s": _SECONDS,
    "result": {},
    "execution": _OBJECT_OR_NULL,
}
_PROPOSAL: Final = {
    "proposal_id": _STRING,
    "state": _STATE,
    "tier": _TIER,
    "tool_tier": _TIER,
    "tool": _STRING,
    "actor": _STRING,
    "actor_kind": _STRING,
    "digest": _STRING,
    "reason": _TEXT_OR_NULL,
    "explanation": _STRING,
    "decided_by": _OBJECT_OR_NULL,
    "decided_at": _TEXT_OR_NULL,
    "version": {"type": "integer"},
    "reviews": {"type": "array", "items": _ANY_OBJECT},
    "quorum": {"type": "integer", "minimum": 0},
    "execution": _OBJECT_OR_NULL,
    "attention": _TEXT_OR_NULL,
    "attention_why": _STRING,
    "waiting_for": _TEXT_OR_NULL,
    "created_at": _STRING,
    "deadline": _STRING,
    "task_id": _TEXT_OR_NULL,
    "surface": _STRING,
    "policy_digest": _STRING,
    "r3_s256": _STRING,
    "r3_uri": _STRING,
    "verdict": _OBJECT_OR_NULL,
    "witness": _STRING,
    "unreadable": _STRING,
    "result": {},
    "retry": _RETRY,
    "permit": _TEXT_OR_NULL,
}
#: An entry as the trail is exported; entries of one proposal need not have consecutive numbers.
_ENTRY: Final = {
    "seq": {"type": "integer", "minimum": 1},
    "at": _STRING,
    "proposal_id": _TEXT_OR_NULL,
    "kind": _STRING,
    "from": _TEXT_OR_NULL,
    "to": _TEXT_OR_NULL,
    "actor": _OBJECT_OR_NULL,
    "surface": _TEXT_OR_NULL,
    "event_id": _TEXT_OR_NULL,
    "digest": _TEXT_OR_NULL,
    "policy_digest": _TEXT_OR_NULL,
    "reason": _TEXT_OR_NULL,
    "details": _ANY_OBJECT,
    "prev_hash": _STRING,
    "entry_hash": _STRING,
}
_QUESTION: Final = {
    "question_id": _STRING,
    "intent": _STRING,
    "target": _STRING,
    "asked_at": _STRING,
    "witness": _STRING,
    "answer": _TEXT_OR_NULL,
    "answered_by": _TEXT_OR_NULL,
    "answered_at": _TEXT_OR_NULL,
}
_TASK: Final = {
    "task_id": _STRING,
    "state": _STRING,
    "proposal_id": _STRING,
    "reason": _TEXT_OR_NULL,
    "explanation": _STRING,
    "updated_at": _STRING,
}
_PROBLEM: Final = {
    "type": _STRING,
    "title": _STRING,
    "status": {"type": "integer"},
    "detail": _STRING,
    "error": _TEXT_OR_NULL,
    "reason": _TEXT_OR_NULL,
    "retry": _RETRY,
    "errors": {"type": "array", "items": _ref("Fault")},
    "retry_after_s": _SECONDS,
}
_EVIDENCE: Final = {
    "evidence_id": {"type": "string", "pattern": r"^(?!\.+$)[A-Za-z0-9._-]{1,64}$"},
    "source": _STRING,
    "observed_at_ms": {"type": "integer", "minimum": 1},
    "payload": _ANY_OBJECT,
}

#: By name. `Document` has only what all three kinds have in common; /v1/schema has the rest.
SCHEMAS: Final[dict[str, Any]] = {
    "Fault": _FAULT,
    "Answer": _object(_ANSWER),
    "Check": _object(
        _ANSWER
        | {
            "verdict": {"enum": ["passed", "rejected", "existing", "would_be_asked"]},
            "quorum": {"type": ["integer", "null"]},
            "findings": {"type": "array", "items": _ref("Fault")},
            "rules": _OBJECT_OR_NULL,
        }
    ),
    "Proposal": _object(_PROPOSAL, optional=("permit", "unreadable", "witness")),
    "Proposals": _page("proposals", "Proposal"),
    "Withdrawn": _object({"proposal_id": _STRING, "state": _TEXT_OR_NULL, "explanation": _STRING}),
    "Acted": _object(
        {
            "proposal_id": _STRING,
            "explanation": _STRING,
            "state": _STATE,
            "execution": _OBJECT_OR_NULL,
            "result": {},
        }
    ),
    "Entry": _object(_ENTRY),
    "Trail": _page("entries", "Entry"),
    "Question": _object(_QUESTION),
    "Task": _object(_TASK),
    "Tasks": _page("tasks", "Task"),
    "Tools": _object(
        {"advisory": {"const": True}, "tools": {"type": "array", "items": _ANY_OBJECT}}
    ),
    "Policy": _object(
        {
            "policyDigest": _STRING,
            "normalizerId": _STRING,
            "rules": {"type": "array", "items": _ANY_OBJECT},
            "limits": _ANY_OBJECT,
        }
    ),
    "Health": _object({"status": {"const": "ok"}, "frozen": {"type": "boolean"}}),
    "Speaker": _object({"kind": {"enum": ["agent", "source"]}, "id": _STRING}),
    "Words": _object({"explanation": _STRING}),
    "Text": _STRING,
    "AnyObject": _ANY_OBJECT,
    "Document": _ANY_OBJECT,
    "Redemption": _object({"permit": _STRING, "parameters": _ANY_OBJECT})
    | {"additionalProperties": False},
    "Receipt": _object(
        {"outcome": {"enum": ["done", "failed"]}, "receipt": _ANY_OBJECT}, optional=("receipt",)
    )
    | {"additionalProperties": False},
    "Evidence": _object(_EVIDENCE) | {"additionalProperties": False},
    "Problem": _object(_PROBLEM, optional=("errors", "retry_after_s")),
}
