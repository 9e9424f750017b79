"""Show an agent its own proposals: one, all, the bytes, the reasons, the trail."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from bot.explained import explained
from bot.intake.http import queries
from bot.intake.http.door import Door, own
from bot.intake.http.holding import held
from bot.intake.http.marks import mark, proposal_key, question_key
from bot.intake.http.problems import json_response, problem, unknown_proposal
from bot.views import as_seen, listed_json
from lifecycle.answers import Sender, retry_after
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.questions import question_json, question_of
from lifecycle.state import State
from lifecycle.text.masking import mask_secrets

#: A page of narrowed proposals comes from at most so many: some milliseconds.
_LOOKED_THROUGH: Final = 2_000


async def one(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return one proposal; with `wait`, once its state has changed or the time is over."""
    proposal_id, query = incoming.path_params["proposal_id"], incoming.query_params
    wait_s, seen = queries.number(query, queries.WAIT, 0), queries.choice(query, queries.SEEN)
    found = await door.store.read(lambda tx: own(tx, proposal_id, sender))
    if found is None:
        return unknown_proposal(proposal_id)
    state = as_seen(found, door.now_ms()).state
    # A permit that waits is answered at once: its agent has something to do.
    if wait_s and not (state.terminal or found.permit_waits) and seen in (None, state):
        at = mark(found, door.now_ms())
        await held(door, incoming, sender, proposal_key(proposal_id), at, wait_s)
    content = await door.store.read(lambda tx: seen_by_agent(tx, door, proposal_id, sender))
    return json_response(content) if content else unknown_proposal(proposal_id)


def seen_by_agent(
    tx: Transaction, door: Door, proposal_id: str, sender: Sender
) -> dict[str, Any] | None:
    """Return a proposal as its own agent sees it: with its result, and a permit that waits."""
    found = own(tx, proposal_id, sender)
    return _with_permit(tx, door, found) if found is not None else None


def _with_permit(tx: Transaction, door: Door, found: Proposal) -> dict[str, Any]:
    now_ms = door.now_ms()
    content = _shown(tx, door, found)
    permit, seen = None, as_seen(found, now_ms)
    # Only while open: an older version left the flag set at the end; redeeming then tells nothing.
    if seen.permit_waits and seen.state is State.SENTINEL_APPROVED:
        kept = tx.permits.of(found.proposal_id, Verb.EXECUTE.value, 1)
        permit = kept.token if kept is not None and kept.consumed_at_ms is None else None
    return content | {"permit": permit}


def _shown(tx: Transaction, door: Door, found: Proposal) -> dict[str, Any]:
    content = listed_json(tx, found, door.now_ms(), public_url=door.public_url)
    reason, faults = content["reason"], found.verdict.faults() if found.verdict else ()
    return content | {
        "result": mask_secrets(found.frame) if found.frame is not None else None,
        "retry": retry_after(reason, faults).value if reason else None,
    }


async def listed(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the sender's own proposals, newest first, a page at a time.

    A page of one tool, or of what has ended so, looks through so many proposals only, and may end
    before it is full: an agent with years behind it must not keep the readers from all others.
    """
    query, actor = incoming.query_params, str(sender.id)
    limit, before = queries.items(query), queries.cursor(query)
    state, tool = queries.choice(query, queries.STATE), queries.choice(query, queries.TOOL)

    def view(tx: Transaction) -> dict[str, Any]:
        sought = tool is not None if state is None else State(state).terminal  # in all the past
        until = tx.proposals.own_behind(actor, before, _LOOKED_THROUGH) if sought else None
        found = tx.proposals.own_of(actor, before, limit + 1, state=state, tool=tool, until=until)
        page = [each for each in found[:limit] if each.actor == sender.identity]
        last = found[limit - 1] if len(found) > limit else None
        place = (last.created_at_ms, last.proposal_id) if last is not None else until
        behind = queries.cursor_of(*place) if place is not None else None
        return {"proposals": [_shown(tx, door, each) for each in page], "next_cursor": behind}

    return json_response(await door.store.read(view))


async def document(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the stored bytes, verbatim: those that the digest is a digest of."""
    proposal_id = incoming.path_params["proposal_id"]
    found = await door.store.read(lambda tx: own(tx, proposal_id, sender))
    if found is None:
        return unknown_proposal(proposal_id)
    headers = {"Signoff-Digest": found.digest, "Cache-Control": "private, no-store"}
    return Response(found.document, 200, headers, media_type="application/json")


async def r3_document(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the R3 document with this hash, verbatim (seed 003)."""
    s256 = incoming.path_params["r3_s256"]
    found = await door.store.read(lambda tx: tx.proposals.with_r3(s256))
    if found is None or found.actor != sender.identity or found.masked:
        words = "You have no document with this hash."
        return problem(404, words, code="proposal_not_found")
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(found.r3_document, 200, headers, media_type="application/json")


async def explain(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return every rule's verdict and every condition of authority."""
    proposal_id, policy, now_ms = incoming.path_params["proposal_id"], door.policy, door.now_ms()
    if await door.store.read(lambda tx: own(tx, proposal_id, sender)) is None:
        return unknown_proposal(proposal_id)
    found = await door.store.read(lambda tx: explained(tx, proposal_id, policy, now_ms))
    return json_response(found)


async def audit(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the trail of the sender's own proposal, oldest first, a page at a time."""
    proposal_id, query = incoming.path_params["proposal_id"], incoming.query_params
    limit, behind = queries.items(query, queries.MOST_ITEMS), queries.cursor(query)
    after_seq = behind[0] if behind else 0

    def view(tx: Transaction) -> dict[str, Any] | None:
        if own(tx, proposal_id, sender) is None:
            return None
        found = tx.audit.page_of(proposal_id, after_seq, limit + 1)
        page, more = found[:limit], len(found) > limit
        next_cursor = queries.cursor_of(page[-1].seq, proposal_id) if more else None
        return {"entries": [each.as_json() for each in page], "next_cursor": next_cursor}

    content = await door.store.read(view)
    return json_response(content) if content is not None else unknown_proposal(proposal_id)


async def question(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the sender's own question; with `wait`, once a reviewer has answered."""
    asked_id = incoming.path_params["question_id"]
    wait_s = queries.number(incoming.query_params, queries.WAIT, 0)
    found = await door.store.read(lambda tx: question_of(tx, asked_id))
    if found is None or found["actor"] != sender.id:
        words = "You have no question with this id."
        return problem(404, words, code="unknown_proposal")
    if found["answer"] is None:
        await held(door, incoming, sender, question_key(asked_id), None, wait_s)
        found = await door.store.read(lambda tx: question_of(tx, asked_id)) or found
    return json_response(question_json(found))
