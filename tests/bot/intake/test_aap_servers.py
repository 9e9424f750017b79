"""AAP: the server that a call names is part of what people approve."""

from __future__ import annotations

import httpx

from bot.chat.cards.card_written import written_of
from tests.bot.intake.conftest import Outside

CALL = {
    "tool": "issue-refund",
    "arguments": {"amount": "2.00", "currency": "USD"},
    "timeout": "1h",
}


async def asks(leila: httpx.AsyncClient, key: str, **server: str) -> str:
    """Ask about the call and return its id."""
    headers = {"idempotency-key": key}
    answer = await leila.post("/aap/v1/requests", json=CALL | server, headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def status(leila: httpx.AsyncClient, asked_id: str) -> str:
    return str((await leila.get(f"/aap/v1/requests/{asked_id}")).json()["status"])


async def used(leila: httpx.AsyncClient, asked_id: str) -> int:
    headers = {"idempotency-key": f"use of {asked_id}"}
    return (await leila.post(f"/aap/v1/requests/{asked_id}/consume", headers=headers)).status_code


async def test_an_approval_for_the_tool_of_one_server_is_none_for_that_of_another(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    there = [await asks(leila, key, server="sandbox") for key in ("k1", "k2")]
    others = [await asks(leila, "k3", server="production"), await asks(leila, "k4")]

    await outside.world.shows()
    await outside.world.approves("ana", there[0])

    assert [await status(leila, each) for each in there] == ["approved"] * 2
    assert [await status(leila, each) for each in others] == ["pending"] * 2
    assert [await used(leila, each) for each in others] == [409] * 2


async def test_a_card_shows_which_server_a_call_is_made_to(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    proposal = await outside.world.proposal(await asks(leila, "k1", server="production"))

    fields = written_of(proposal, outside.world.workflow.policy).fields
    target = next(field.text for field in fields if field.label == "Target")
    assert target == 'issue-refund "call to production" at agent'
