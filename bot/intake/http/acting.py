"""Carry out what an agent or a source does: redeem a permit, report a receipt, record evidence."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from bot.intake.http.bodies import LARGEST_CALL_BYTES, body_of, fields_of, object_of
from bot.intake.http.door import Door, own
from bot.intake.http.holding import listened_to
from bot.intake.http.looking import seen_by_agent
from bot.intake.http.problems import json_response, problem, reply_problem, unknown_proposal
from bot.intake.http.statuses import reply_status
from lifecycle.answers import Reply, Sender
from lifecycle.errors import Refused
from lifecycle.evidence import read_packet
from lifecycle.ports import StoreUnavailable

_USED: Final = "permit_already_consumed"
_OUTCOMES: Final = ("done", "failed")


async def redeem(door: Door, incoming: Request, sender: Sender) -> Response:
    """Use up a permit with the actual parameters; execution begins here (seed 003).

    Nothing begins for an agent that has hung up meanwhile: its permit stays good.
    """
    proposal_id = incoming.path_params["proposal_id"]
    if await door.store.read(lambda tx: own(tx, proposal_id, sender)) is None:
        return unknown_proposal(proposal_id)
    body = await object_of(incoming, LARGEST_CALL_BYTES)
    fields_of(body, {"permit": str, "parameters": dict}, needed=("permit", "parameters"))
    async with listened_to(incoming) as still:
        reply = await door.workflow.redeem(
            body["permit"], body["parameters"], sender, proposal_id, lambda _tx: still()
        )
    return await _replied(door, sender, proposal_id, reply)


async def receipt(door: Door, incoming: Request, sender: Sender) -> Response:
    """Report what was done under a permit."""
    proposal_id = incoming.path_params["proposal_id"]
    if await door.store.read(lambda tx: own(tx, proposal_id, sender)) is None:
        return unknown_proposal(proposal_id)
    body = await object_of(incoming)
    fields_of(body, {"outcome": str, "receipt": dict}, needed=("outcome",))
    if body["outcome"] not in _OUTCOMES:
        words = "outcome is done, or failed where nothing was left behind."
        return problem(422, words, code="wrong_type")
    reply = await door.workflow.report(
        proposal_id, sender, body["outcome"], body.get("receipt") or {}
    )
    return await _replied(door, sender, proposal_id, reply)


async def _replied(door: Door, sender: Sender, proposal_id: str, reply: Reply) -> Response:
    """Return a reply with the proposal as it stands; a repeat gets the stored result.

    What was done is told also if the proposal cannot be read afterwards.
    """
    try:
        shown = await door.store.read(lambda tx: seen_by_agent(tx, door, proposal_id, sender)) or {}
    except StoreUnavailable:
        shown = {"state": reply.state}
    members = {key: shown.get(key) for key in ("state", "execution", "result")}
    if reply.done:
        told = {"proposal_id": proposal_id, "explanation": reply.words, **members}
        return json_response(told)
    if reply.code == _USED:
        return reply_problem(409, Reply(reply.words, _USED, proposal_id), **members)
    return reply_problem(reply_status(reply.code), reply)


async def evidence(door: Door, incoming: Request, sender: Sender) -> Response:
    """Record what a configured source observed; never an agent."""
    raw = await body_of(incoming)
    reply = await door.workflow.record_evidence(raw, sender)
    if not reply.done:
        return reply_problem(reply_status(reply.code), reply, errors=_faults(door, raw, sender))
    return json_response({"explanation": reply.words}, 201)


def _faults(door: Door, raw: bytes, sender: Sender) -> list[dict[str, Any]]:
    """Return all faults of a packet; a reply tells only the first one."""
    try:
        read_packet(raw, sender, door.workflow.world.moment())
    except Refused as error:
        return [fault.as_json() for fault in error.faults]
    return []  # it was read, and refused for what is stored already
