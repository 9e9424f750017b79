"""What ends or begins at the HTTP door: a withdrawal, and a permit that is redeemed once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from tests.bot.intake.conftest import Outside, code_of, submitted
from tests.bot.intake.held_write import held_write
from tests.bot.intake.test_protocol import connected
from tests.builders import PROD, REFUND, a_document


def posted(path: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer leila-token\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def test_withdrawing_a_proposal_ends_it_once(leila) -> None:
    await submitted(leila, PROD)
    assert (await leila.delete("/v1/proposals/p1")).json()["state"] == "rejected"
    assert code_of(await leila.delete("/v1/proposals/p1")) == (409, "already_decided")


async def test_whoever_is_removed_while_waiting_gets_no_permit(leila, outside) -> None:
    await submitted(leila, REFUND)
    await outside.world.shows()
    call = {"tool": "issue-refund", "arguments": {"amount": "2.00", "currency": "USD"}}
    asked = await leila.post(
        "/aap/v1/requests", json=call | {"timeout": "10m"}, headers={"idempotency-key": "k"}
    )
    paths = ("/v1/proposals/p1?wait=15", f"/aap/v1/requests/{asked.json()['id']}?wait=15s")
    waiting = [asyncio.create_task(leila.get(path)) for path in paths]
    await asyncio.wait(waiting, timeout=0.3)
    assert not any(each.done() for each in waiting)

    agents = dict(outside.world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], token_env=None)
    await outside.world.adopts(agents=agents)
    for proposal_id in [each["proposal_id"] for each in await outside.world.audit("submitted")]:
        await outside.world.approves("ana", proposal_id, "seen")

    async with asyncio.timeout(5):
        answers = await asyncio.gather(*waiting)
    assert [each.status_code for each in answers] == [401, 401]


async def test_a_permit_is_redeemed_once_and_a_repeat_gets_the_result(leila, outside) -> None:
    await submitted(leila, REFUND)
    await outside.world.shows()
    assert (await leila.get("/v1/proposals/p1")).json()["permit"] is None
    await outside.world.approves("ana", "p1")
    permit = (await leila.get("/v1/proposals/p1")).json()["permit"]
    call = {"permit": permit, "parameters": {"currency": "USD", "amount": "120.00"}}
    async with outside.client("nour-token") as nour:
        assert (await nour.post("/v1/proposals/p1/redeem", json=call)).status_code == 404
    other = await leila.post(
        "/v1/proposals/p1/redeem", json=call | {"parameters": {"amount": "1200.00"}}
    )
    assert code_of(other) == (422, "proposal_parameter_mismatch")
    begun = await leila.post("/v1/proposals/p1/redeem", json=call)
    assert (begun.status_code, begun.json()["state"]) == (200, "executing")
    early = await leila.post("/v1/proposals/p1/redeem", json=call)
    assert code_of(early) == (409, "permit_already_consumed")
    told = await leila.post(
        "/v1/proposals/p1/receipt", json={"outcome": "done", "receipt": {"refund": "r-1"}}
    )
    assert (told.status_code, told.json()["state"]) == (200, "completed")
    again = await leila.post("/v1/proposals/p1/redeem", json=call)
    assert code_of(again) == (409, "permit_already_consumed")
    assert "r-1" in json.dumps(again.json()["result"])
    assert again.json()["retry"] == "never"
    twice = await leila.post("/v1/proposals/p1/receipt", json={"outcome": "done", "receipt": {}})
    assert code_of(twice) == (409, "permit_already_consumed")
    assert (await leila.get("/v1/proposals/p1")).json()["permit"] is None


async def test_ten_redemptions_at_once_begin_one_execution(leila, outside) -> None:
    await submitted(leila, REFUND)
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    permit = (await leila.get("/v1/proposals/p1")).json()["permit"]
    call = {"permit": permit, "parameters": REFUND["parameters"]}
    answers = await asyncio.gather(
        *(leila.post("/v1/proposals/p1/redeem", json=call) for _ in range(10))
    )
    assert sorted(each.status_code for each in answers) == [200] + [409] * 9
    assert (await outside.world.trail("p1")).count("execute") == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"permit": 1, "parameters": {}},
        {"permit": "x", "parameters": []},
        {"permit": "x", "parameters": {}, "operation": "y"},
    ],
)
async def test_a_redemption_of_another_shape_is_refused(leila, body: Any) -> None:
    await submitted(leila, REFUND)
    assert (await leila.post("/v1/proposals/p1/redeem", json=body)).status_code == 422


async def test_a_forged_permit_is_refused(leila) -> None:
    await submitted(leila, REFUND)
    forged = {"permit": "signoff1.k1.e30.e30", "parameters": REFUND["parameters"]}
    answer = await leila.post("/v1/proposals/p1/redeem", json=forged)
    assert code_of(answer) == (403, "permit_signature_invalid")


async def test_a_permit_of_another_proposal_begins_nothing(
    leila: httpx.AsyncClient, outside: Outside
) -> None:
    for proposal_id, order in (("p1", "order-17"), ("p2", "order-99")):
        target = REFUND["target"] | {"resource_id": order}
        document = a_document(REFUND, proposal_id=proposal_id, target=target)
        assert (await leila.post("/v1/proposals", json=document)).status_code == 202
    await outside.world.shows()
    for proposal_id in ("p1", "p2"):
        await outside.world.approves("ana", proposal_id, "seen")
    permit = (await leila.get("/v1/proposals/p2")).json()["permit"]

    body = {"permit": permit, "parameters": REFUND["parameters"]}
    answer = await leila.post("/v1/proposals/p1/redeem", json=body)

    assert (answer.status_code, answer.json()["reason"]) == (403, "permit_mismatch")
    states = [(await outside.world.proposal(each)).state for each in ("p1", "p2")]
    assert states == [State.SENTINEL_APPROVED, State.SENTINEL_APPROVED]


@pytest.mark.parametrize("end", ["withdrawn", "rejected", "expired", "tool gone"])
async def test_no_permit_is_shown_of_what_has_ended(leila, outside, end: str) -> None:
    world = outside.world
    await submitted(leila, REFUND)
    await world.shows()
    await world.approves("ana", "p1")
    assert (await leila.get("/v1/proposals/p1")).json()["permit"]
    match end:
        case "withdrawn":
            await leila.delete("/v1/proposals/p1")
        case "rejected":
            await world.rejects("ben", "p1", "paid already")
        case "expired":
            await world.passes(minutes=60)
        case _:
            tools = dict(world.workflow.policy.tools)
            del tools["issue-refund"]
            await world.adopts(tools=tools)

    shown = (await leila.get("/v1/proposals/p1")).json()

    assert (shown["state"], shown["permit"]) == ("rejected", None)
    assert not (await world.proposal("p1")).permit_waits


async def test_what_was_done_is_told_although_it_cannot_be_read_afterwards(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submitted(leila, REFUND)
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    permit = (await leila.get("/v1/proposals/p1")).json()["permit"]
    call = {"permit": permit, "parameters": {"currency": "USD", "amount": "120.00"}}
    acts = [("redeem", call, "executing"), ("receipt", {"outcome": "done"}, "completed")]
    store = outside.world.store
    read, write = store.read, store.write

    async def unreadable(_view: Any) -> Any:
        raise StoreUnavailable("too many open files")

    async def the_last(unit: Any) -> Any:
        done = await write(unit)
        store.read = unreadable
        return done

    for act, body, state in acts:
        with monkeypatch.context() as ill:
            ill.setattr(store, "read", read)
            ill.setattr(store, "write", the_last)
            told = await leila.post(f"/v1/proposals/p1/{act}", json=body)

        assert (told.status_code, told.json()["state"]) == (200, state)
        assert (await outside.world.proposal("p1")).state.value == state


async def test_nobody_is_told_that_nothing_was_done_who_cannot_know(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(_view: Any) -> Any:
        raise StoreUnavailable("too many open files")

    monkeypatch.setattr(outside.world.store, "read", unreadable)
    told = await leila.get("/v1/proposals/p1")

    assert code_of(told) == (503, "audit_unavailable")
    assert "nothing was done" not in told.json()["detail"]
    assert "look first what became of it" in told.json()["detail"]


@pytest.mark.parametrize("behind", [b"", b"GET /v1/whoami HTTP/1.1\r\nHost: x\r\n\r\n"])
async def test_nothing_begins_for_an_agent_that_has_hung_up(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    await submitted(leila, REFUND)
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    permit = (await leila.get("/v1/proposals/p1")).json()["permit"]
    call = {"permit": permit, "parameters": {"currency": "USD", "amount": "120.00"}}
    with held_write(outside.world.store, monkeypatch) as write:
        _, writer = await connected(outside)
        writer.write(posted("/v1/proposals/p1/redeem", call))
        await write.asked.wait()
        writer.write(behind)
        assert (await leila.get("/v1/whoami")).status_code == 200
        writer.close()
        assert (await leila.get("/v1/proposals/p1")).json()["permit"] == permit
        write.free.set()
        await write.ended.wait()

    assert (await outside.world.proposal("p1")).state is State.SENTINEL_APPROVED
    begun = await leila.post("/v1/proposals/p1/redeem", json=call)
    assert (begun.status_code, begun.json()["state"]) == (200, "executing")
