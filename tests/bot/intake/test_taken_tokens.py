"""A token that a new config takes from somebody while their message is on its way does nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bot.intake.aap import denials
from bot.intake.aap.asking import Asking
from bot.intake.aap.book import id_of
from bot.intake.aap.wire import AapRefused
from bot.intake.http.door import Door
from lifecycle.state import State
from tests.bot.intake.conftest import TOKENS, Outside, submitted
from tests.builders import MAIL, PROD, REFUND, a_document
from tests.fakes.discord_stage import until
from tests.fakes.tools import waiting_for
from tests.roads import adopted

PARAMETERS = {"currency": "USD", "amount": "120.00"}
CALL = {"tool": "issue-refund", "arguments": PARAMETERS, "timeout": "1h"}


async def taken_away(outside: Outside) -> None:
    """Let a new config give leila and the sensor other tokens; those are no part of its digest."""
    law = outside.world.workflow.world.law
    agents, sources = dict(law.policy.agents), dict(law.policy.sources)
    agents["leila"] = replace(agents["leila"], token_env="T_NEW")
    sources["crm-sensor"] = replace(sources["crm-sensor"], token_env="T_NEW_TOO")
    policy = replace(law.policy, agents=agents, sources=sources)
    await adopted(outside.world.workflow, policy, law.sentinel)


class OnItsWay:
    """A message of which the first half has been read."""

    def __init__(self, outside: Outside, path: str, body: Any, token: str = "leila-token") -> None:
        self.outside, self.body = outside, json.dumps(body).encode()
        self.head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Idempotency-Key: k1\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Expect: 100-continue\r\nContent-Length: {len(self.body)}\r\n\r\n"
        )

    async def ends_after(self, change: Callable[[Outside], Awaitable[None]]) -> int:
        """Send the rest behind a change; return the status of the answer."""
        port = int(self.outside.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(self.head.encode())
            assert b" 100 " in await reader.readuntil(b"\r\n\r\n")  # its body is read now
            writer.write(self.body[:10])
            await change(self.outside)
            writer.write(self.body[10:])
            return int((await reader.readline()).split()[1])
        finally:
            writer.close()


async def permitted(outside: Outside, leila: httpx.AsyncClient) -> str:
    """Let a refund be approved; return its permit."""
    await submitted(leila, REFUND)
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    return str((await leila.get("/v1/proposals/p1")).json()["permit"])


async def test_what_is_proposed_meanwhile_is_nobodys(outside: Outside) -> None:
    sent = OnItsWay(outside, "/v1/proposals", a_document(PROD))

    assert await sent.ends_after(taken_away) == 401

    assert await outside.world.audit("submitted") == []
    assert [each["reason"] for each in await outside.world.audit("refused")] == ["unknown_agent"]


async def test_what_is_called_over_aap_meanwhile_is_nobodys_and_leaves_its_key_free(
    outside: Outside,
) -> None:
    sent = OnItsWay(outside, "/aap/v1/requests", CALL)

    assert await sent.ends_after(taken_away) == 401

    assert await outside.world.audit("submitted") == []
    agents = dict(outside.world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], token_env="T_LEILA")
    await outside.world.adopts(agents=agents)
    async with outside.client() as leila:
        again = await leila.post("/aap/v1/requests", json=CALL, headers={"idempotency-key": "k1"})
    assert (again.status_code, again.json()["status"]) == (201, "pending")


async def test_a_permit_that_is_redeemed_meanwhile_begins_nothing(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    permit = await permitted(outside, leila)
    call = {"permit": permit, "parameters": PARAMETERS}
    sent = OnItsWay(outside, "/v1/proposals/p1/redeem", call)

    assert await sent.ends_after(taken_away) == 401

    assert (await outside.world.proposal("p1")).state is State.SENTINEL_APPROVED


async def test_a_receipt_that_is_sent_meanwhile_says_nothing(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    permit = await permitted(outside, leila)
    call = {"permit": permit, "parameters": PARAMETERS}
    assert (await leila.post("/v1/proposals/p1/redeem", json=call)).status_code == 200
    sent = OnItsWay(
        outside, "/v1/proposals/p1/receipt", {"outcome": "done", "receipt": {"refund": "r-1"}}
    )

    assert await sent.ends_after(taken_away) == 401

    assert (await outside.world.proposal("p1")).state is State.EXECUTING


async def test_evidence_that_is_sent_meanwhile_is_nobodys(outside: Outside) -> None:
    now_ms = outside.world.clock.now_ms()
    packet = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": now_ms,
        "payload": {},
    }
    sent = OnItsWay(outside, "/v1/evidence", packet, "sensor-token")

    assert await sent.ends_after(taken_away) == 401

    assert await outside.world.store.read(lambda tx: tx.evidence.get("e1")) is None


async def test_nobody_is_told_a_result_whose_token_was_taken_away_while_the_tool_ran(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    gate = asyncio.Event()
    outside.world.tool("search").on["execute"] = waiting_for(gate)
    document = a_document(
        MAIL,
        proposal_id="s1",
        tool="search",
        action_type="read",
        parameters={"q": "invoice"},
        justification=None,
    )
    asking = asyncio.create_task(leila.post("/v1/proposals", json=document))
    await until(lambda: outside.world.tool("search").verbs(), "the tool runs")
    await taken_away(outside)
    gate.set()

    answer = await asking
    assert answer.status_code == 401
    assert "result" not in answer.json()


async def test_an_outcome_that_is_told_over_aap_meanwhile_is_not_kept(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    key = {"idempotency-key": "k1"}
    asked = (await leila.post("/aap/v1/requests", json=CALL, headers=key)).json()["id"]
    await outside.world.shows()
    await outside.world.approves("ana", asked)
    one = f"/aap/v1/requests/{asked}"
    assert (await leila.post(f"{one}/consume", headers=key)).status_code == 200
    sent = OnItsWay(outside, f"{one}/outcome", {"status": "succeeded", "note": "not mine"})

    assert await sent.ends_after(taken_away) == 401

    kept = await outside.world.store.read(lambda tx: tx.flags.get(f"aap:{asked}"))
    assert kept["outcome"] is None
    assert (await outside.world.proposal(asked)).state is State.EXECUTING


@pytest.mark.parametrize("known_for", [0, 1, 2])
async def test_a_call_of_an_agent_that_is_removed_before_it_is_proposed_leaves_its_key_free(
    outside: Outside, known_for: int
) -> None:
    """It waits behind the same call, and for the store; the config comes in between."""
    looks = iter([True] * known_for)
    door = Door.to(outside.world.workflow, TOKENS)
    leila = replace(outside.world.sender("leila"), proof=lambda _: next(looks, False))

    with pytest.raises(AapRefused) as refused:
        await Asking(door).ask(CALL, "k1", leila, b"{}")

    assert refused.value.status == 401
    key = id_of("leila", "k1")
    assert await outside.world.store.read(lambda tx: denials.kept(tx, "leila", key)) is None
