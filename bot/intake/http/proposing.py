"""Submit, check and withdraw proposals."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bot.intake.http.bodies import body_of
from bot.intake.http.door import Door, own
from bot.intake.http.problems import (
    answer_problem,
    json_response,
    reply_problem,
    unauthorized,
    unknown_proposal,
)
from bot.intake.http.statuses import refusal_status, reply_status, status_of
from lifecycle.answers import Answer, Sender
from lifecycle.errors import Refused


async def submit(door: Door, incoming: Request, sender: Sender) -> Response:
    """Submit one document; the status says what became of it."""
    if sender.identity is None:
        await door.turned_away(None)  # not a byte of the body is read
        return unauthorized()
    try:
        raw = await body_of(incoming)
    except Refused as error:
        return answered(door, await door.workflow.intake.refused(error, sender, b""))
    return answered(door, await door.workflow.submit(raw, sender))


def answered(door: Door, answer: Answer) -> Response:
    """Return an answer with its status, as a problem document if it says no."""
    status = status_of(answer)
    headers = {}
    if answer.proposal_id is not None:
        headers["Location"] = f"{door.public_url}/v1/proposals/{answer.proposal_id}"
    if status < 400:
        return json_response(answer.as_json(), status, headers)
    return answer_problem(status, answer, headers)


async def check(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return what a submission would meet now; no proposal is stored or shown."""
    answer = await door.workflow.check(await body_of(incoming), sender)
    if answer.digest is None and answer.reason is not None:
        return answer_problem(refusal_status(answer.reason, answer.outcome), answer, {})
    return json_response(checked(answer))


def checked(answer: Answer) -> dict[str, Any]:
    """Return the answer to a check: verdict, tier, quorum, findings, digest."""
    told = answer.result if isinstance(answer.result, dict) else {}
    content = answer.as_json() | {
        "verdict": "existing" if answer.deduplicated else "would_be_asked",
        "quorum": None,
        "findings": [fault.as_json() for fault in answer.errors],
        "rules": None,
        "result": None,
    }
    if "quorum" in told:
        content["verdict"] = "passed" if answer.reason is None else "rejected"
        content |= {"quorum": told["quorum"], "rules": told["verdict"]}
    return content


async def withdraw(door: Door, incoming: Request, sender: Sender) -> Response:
    """Withdraw the sender's own proposal before it is carried out."""
    proposal_id = incoming.path_params["proposal_id"]
    if await door.store.read(lambda tx: own(tx, proposal_id, sender)) is None:
        return unknown_proposal(proposal_id)
    reply = await door.workflow.withdraw(proposal_id, sender)
    if not reply.done:
        return reply_problem(reply_status(reply.code), reply)
    return json_response(
        {"proposal_id": reply.proposal_id, "state": reply.state, "explanation": reply.words}
    )
