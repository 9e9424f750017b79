"""List all operations of the door. There is no approve verb here, and there may be none."""

from __future__ import annotations

from typing import Final

from bot.intake.http import acting, house, looking, proposing, queries
from bot.intake.http.operations import Operation

_ONE: Final = "/v1/proposals/{proposal_id}"
_MINE: Final = (404,)

PROPOSALS: Final = (
    Operation(
        "POST",
        "/v1/proposals",
        "submit",
        "Submit one document: a Proposal, a KernelRequest or an instruction envelope. 201 it has "
        "ended, 202 it is open, 200 it is the one that exists already.",
        proposing.submit,
        {200: "Answer", 201: "Answer", 202: "Answer"},
        (400, 403, 409, 413, 422, 429),
        body="Document",
    ),
    Operation(
        "POST",
        "/v1/proposals:check",
        "check",
        "Say what a submission would meet now. No proposal is stored or shown. With preconditions "
        "it is asked no oftener than the tool's rate allows, and stands in the trail.",
        proposing.check,
        {200: "Check"},
        (400, 403, 409, 413, 422, 429),
        body="Document",
    ),
    Operation(
        "GET",
        "/v1/proposals",
        "list",
        "Your proposals, newest first. With `state` or `tool` a page may hold fewer than `limit`: "
        "the list ends where `next_cursor` is null.",
        looking.listed,
        {200: "Proposals"},
        (400,),
        query=(queries.STATE, queries.TOOL, queries.LIMIT, queries.CURSOR),
    ),
    Operation(
        "GET",
        _ONE,
        "get",
        "One of your proposals, with its result, and its permit while that waits for you.",
        looking.one,
        {200: "Proposal"},
        (400, *_MINE),
        query=(queries.WAIT, queries.SEEN),
    ),
    Operation(
        "DELETE",
        _ONE,
        "withdraw",
        "Take your proposal back before it is carried out.",
        proposing.withdraw,
        {200: "Withdrawn"},
        (403, *_MINE, 409, 422),
    ),
    Operation(
        "GET",
        f"{_ONE}/document",
        "document",
        "The stored bytes, verbatim: what the digest is a digest of.",
        looking.document,
        {200: "AnyObject"},
        _MINE,
    ),
    Operation(
        "GET",
        f"{_ONE}/explain",
        "explain",
        "Every rule's verdict, every condition of authority, and the witness of a plan.",
        looking.explain,
        {200: "AnyObject"},
        _MINE,
    ),
    Operation(
        "GET",
        f"{_ONE}/audit",
        "audit",
        "The audit trail of your proposal, oldest first, a hundred entries a page.",
        looking.audit,
        {200: "Trail"},
        (400, *_MINE),
        query=(queries.LIMIT, queries.CURSOR),
    ),
)

PERMITS: Final = (
    Operation(
        "POST",
        f"{_ONE}/redeem",
        "redeem",
        "Use up a permit with the actual parameters; execution begins. A repeat is 409 and carries "
        "the stored result: the action is never run again.",
        acting.redeem,
        {200: "Acted"},
        (400, 403, *_MINE, 409, 410, 413, 422),
        body="Redemption",
    ),
    Operation(
        "POST",
        f"{_ONE}/receipt",
        "report",
        "Report what you did under your permit; failed means that nothing was left behind.",
        acting.receipt,
        {200: "Acted"},
        (400, 403, *_MINE, 409, 413, 422),
        body="Receipt",
    ),
    Operation(
        "GET",
        "/r3/{r3_s256}",
        "r3",
        "The R3 document of one of your proposals, verbatim: its hash is its name.",
        looking.r3_document,
        {200: "AnyObject"},
        _MINE,
    ),
)

HOUSE: Final = (
    Operation(
        "POST",
        "/v1/evidence",
        "evidence",
        "Record what a configured source observed; never an agent.",
        acting.evidence,
        {201: "Words"},
        (400, 403, 409, 413, 422),
        body="Evidence",
    ),
    Operation(
        "GET",
        "/v1/questions/{question_id}",
        "question",
        "Your question to people, and the first reply of a reviewer.",
        looking.question,
        {200: "Question"},
        (400, *_MINE),
        query=(queries.WAIT,),
    ),
    Operation(
        "GET",
        "/v1/tasks",
        "tasks",
        "The tasks that your proposals came from.",
        house.tasks,
        {200: "Tasks"},
        (400,),
        query=(queries.LIMIT, queries.CURSOR),
    ),
    Operation(
        "GET",
        "/v1/tasks/{task_id}",
        "task",
        "One task that a proposal of yours came from.",
        house.task,
        {200: "Task"},
        _MINE,
    ),
    Operation(
        "GET",
        "/v1/whoami",
        "whoami",
        "As whom your token speaks: proposals carry this id as actor.",
        house.whoami,
        {200: "Speaker"},
    ),
    Operation(
        "GET",
        "/v1/tools",
        "tools",
        "All tools. Advisory: to stand in a list is no permission.",
        house.tools,
        {200: "Tools"},
    ),
    Operation(
        "GET",
        "/v1/policy",
        "policy",
        "The policy in force: what plans are bound to.",
        house.policy,
        {200: "Policy"},
    ),
    Operation(
        "GET",
        "/v1/schema",
        "schema",
        "The JSON Schema of a Proposal.",
        house.schema,
        {200: "AnyObject"},
    ),
    Operation(
        "GET",
        "/healthz",
        "health",
        "Whether the bot can read and write its store, and whether all is frozen.",
        house.healthz,
        {200: "Health"},
        open_to_all=True,
    ),
    Operation(
        "GET",
        "/metrics",
        "metrics",
        "Numbers for Prometheus.",
        house.metrics,
        {200: "Text"},
        (429,),
        open_to_all=True,
        media_type="text/plain",
    ),
)

OPERATIONS: Final = (*PROPOSALS, *PERMITS, *HOUSE)
