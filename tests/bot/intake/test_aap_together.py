"""AAP: calls with the same content share a proposal, and each keeps its own word and time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from lifecycle.policy import Level
from lifecycle.state import State
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import REFUND, a_document, a_policy
from tests.world import a_world

ARGUMENTS = {"amount": "2.00", "currency": "USD"}


async def asks(leila: httpx.AsyncClient, key: str, time: str, **changes: Any) -> dict[str, Any]:
    call = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": time} | changes
    headers = {"idempotency-key": key}
    answer = await leila.post("/aap/v1/requests", json=call, headers=headers)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def seen(leila: httpx.AsyncClient, call: Mapping[str, Any]) -> dict[str, Any]:
    return dict((await leila.get(f"/aap/v1/requests/{call['id']}")).json())


async def cancels(leila: httpx.AsyncClient, call: Mapping[str, Any]) -> str:
    return str((await leila.delete(f"/aap/v1/requests/{call['id']}")).json()["status"])


async def consumes(leila: httpx.AsyncClient, call: Mapping[str, Any]) -> tuple[int, str | None]:
    headers = {"idempotency-key": f"use of {call['id']}"}
    answer = await leila.post(f"/aap/v1/requests/{call['id']}/consume", headers=headers)
    return answer.status_code, answer.json().get("error", {}).get("code")


async def approved(outside: Outside, proposal_id: str) -> None:
    await outside.world.shows()
    await outside.world.approves("ana", proposal_id)


async def test_a_call_that_is_waited_for_is_answered_at_its_own_deadline(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    """It was answered when the wait was over, for its proposal had more time."""
    _, short = [await asks(leila, key, time) for key, time in (("k1", "1h"), ("k2", "1s"))]
    outside.world.clock.advance(0.9)
    asyncio.get_running_loop().call_later(0.05, outside.world.clock.advance, 0.2)

    answer = await asyncio.wait_for(leila.get(f"/aap/v1/requests/{short['id']}?wait=60s"), 10)

    assert answer.json()["status"] == "expired"


@pytest.mark.parametrize("which", [0, 1])
async def test_a_call_that_is_cancelled_takes_none_but_itself_back(
    outside: Outside, leila: httpx.AsyncClient, which: int
) -> None:
    calls = [await asks(leila, key, "1h") for key in ("k1", "k2")]
    mine, other = calls[which], calls[1 - which]

    assert [await cancels(leila, mine), await cancels(leila, mine)] == ["cancelled"] * 2

    assert (await seen(leila, other))["status"] == "pending"
    await approved(outside, calls[0]["id"])
    assert (await seen(leila, mine))["status"] == "cancelled"
    assert await consumes(leila, mine) == (409, "not_approved")
    assert (await consumes(leila, other))[0] == 200


async def test_what_no_call_waits_for_any_more_is_withdrawn(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    calls = [await asks(leila, key, "1h") for key in ("k1", "k2", "k3")]
    for call in calls:
        assert (await outside.world.proposal(calls[0]["id"])).state is State.SENTINEL_APPROVED
        await cancels(leila, call)

    assert (await outside.world.proposal(calls[0]["id"])).reason == "withdrawn"
    assert {(await seen(leila, call))["status"] for call in calls} == {"cancelled"}


@pytest.mark.parametrize("left", [0, 1, 2])
async def test_nothing_is_withdrawn_as_long_as_one_of_its_calls_waits(
    outside: Outside, leila: httpx.AsyncClient, left: int
) -> None:
    calls = [await asks(leila, key, "1h") for key in ("k1", "k2", "k3")]
    for call in calls[:left] + calls[left + 1 :]:
        await cancels(leila, call)

    assert (await seen(leila, calls[left]))["status"] == "pending"
    assert (await outside.world.proposal(calls[0]["id"])).state is State.SENTINEL_APPROVED


async def test_a_call_whose_time_is_over_keeps_no_proposal_waiting(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    own, short = await asks(leila, "k1", "1h"), await asks(leila, "k2", "10s")
    outside.world.clock.advance(11)

    assert await cancels(leila, own) == "cancelled"

    assert (await outside.world.proposal(own["id"])).reason == "withdrawn"
    assert (await seen(leila, short))["status"] == "expired"


async def test_what_came_through_another_door_is_not_withdrawn_for_a_call(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    match = outside.world.workflow.policy.tools["issue-refund"].match
    place = {"resource_type": "issue-refund", "resource_id": "call", "domain": "agent", **match}
    document = a_document(REFUND, parameters=ARGUMENTS, target=place | {"constraints": {}})
    proposal_id = (await leila.post("/v1/proposals", json=document)).json()["proposal_id"]
    call = await asks(leila, "k1", "1h")
    assert len(await outside.world.audit("submitted")) == 1

    assert await cancels(leila, call) == "cancelled"

    assert (await outside.world.proposal(proposal_id)).state is State.SENTINEL_APPROVED


async def counted_by_nobody(outside: Outside, call: Mapping[str, Any]) -> None:
    """Leave a call as a version did that noted nowhere which calls stand on a proposal."""
    note = f"aap-calls:{call['id']}"
    await outside.world.store.write(lambda tx: tx.flags.put(note, None))


async def test_a_call_of_a_version_that_did_not_count_waits_beside_those_that_came_since(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    first = await asks(leila, "k1", "1h")
    await counted_by_nobody(outside, first)
    second = await asks(leila, "k2", "1h")

    await cancels(leila, second)
    assert (await outside.world.proposal(first["id"])).state is State.SENTINEL_APPROVED
    assert (await seen(leila, first))["status"] == "pending"
    await cancels(leila, first)
    assert (await outside.world.proposal(first["id"])).reason == "withdrawn"


async def test_a_call_of_a_version_that_did_not_count_takes_its_proposal_back(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    call = await asks(leila, "k1", "1h")
    await counted_by_nobody(outside, call)

    assert await cancels(leila, call) == "cancelled"

    assert (await outside.world.proposal(call["id"])).reason == "withdrawn"


async def test_a_call_is_not_begun_after_its_own_deadline(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    long, short = await asks(leila, "k1", "24h"), await asks(leila, "k2", "10s")
    outside.world.clock.advance(3600)

    assert (await seen(leila, short))["status"] == "expired"
    await approved(outside, long["id"])

    told = await seen(leila, short)
    assert (told["status"], told["decision"]["decided_at"]) == ("expired", short["deadline_at"])
    assert await consumes(leila, short) == (409, "approval_expired")
    assert (await consumes(leila, long))[0] == 200
    assert (await seen(leila, short))["status"] == "expired"


async def test_a_call_with_more_time_than_the_proposal_it_shares_ends_with_it(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    """People were shown one deadline, the first call's. Asked anew, it has all of its time."""
    short, long = await asks(leila, "k1", "60s"), await asks(leila, "k2", "1h")
    outside.world.clock.advance(60)

    told = await seen(leila, long)
    assert (told["status"], told["decision"]["decided_at"]) == ("expired", short["deadline_at"])
    assert await consumes(leila, long) == (409, "approval_expired")
    anew = await asks(leila, "k3", "1h")
    outside.world.clock.advance(3599)
    await approved(outside, anew["id"])
    assert (await consumes(leila, anew))[0] == 200
    assert (await seen(leila, long))["status"] == "expired"


async def test_a_call_with_more_time_is_begun_in_the_time_of_the_proposal_it_shares(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    short, long = await asks(leila, "k1", "60s"), await asks(leila, "k2", "1h")
    outside.world.clock.advance(59)
    await approved(outside, short["id"])

    assert (await consumes(leila, long))[0] == 200
    outside.world.clock.advance(2)
    outcome = f"/aap/v1/requests/{long['id']}/outcome"
    assert (await leila.post(outcome, json={"status": "succeeded"})).status_code == 200


async def test_what_was_approved_in_time_and_not_begun_in_time_is_expired(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    long, short = await asks(leila, "k1", "24h"), await asks(leila, "k2", "60s")
    await approved(outside, long["id"])
    told = await seen(leila, short)
    assert (told["status"], told["decision"]["expires_at"]) == ("approved", short["deadline_at"])
    outside.world.clock.advance(60)

    assert await consumes(leila, short) == (409, "approval_expired")
    assert (await seen(leila, long))["status"] == "approved"


async def test_what_was_begun_in_time_is_no_less_begun_after_its_deadline(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    call = await asks(leila, "k1", "60s")
    await approved(outside, call["id"])
    assert (await consumes(leila, call))[0] == 200
    outside.world.clock.advance(61)

    assert (await consumes(leila, call))[0] == 200
    outcome = f"/aap/v1/requests/{call['id']}/outcome"
    assert (await leila.post(outcome, json={"status": "succeeded"})).status_code == 200
    assert (await seen(leila, call))["consumption"]["outcome"]["status"] == "succeeded"


async def test_a_credential_that_a_later_policy_finds_is_masked_in_the_call_too(
    tmp_path: Path,
) -> None:
    secret = "ghp_" + "a1B2" * 9
    rules = dict(a_policy().rules)
    hard = rules["secrets_absent"]
    rules["secrets_absent"] = replace(hard, level=Level.SOFT)
    store = await open_store("memory:", tmp_path)
    world = a_world(store, a_policy(agents=agents(), rules=rules))
    await world.workflow.start()
    async with served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        stage = Outside(url, world)
        async with stage.client() as leila:
            noted = ARGUMENTS | {"note": secret}
            call = await asks(leila, "k1", "10m", arguments=noted)
            assert call["status"] == "pending"
            await world.adopts(rules=rules | {"secrets_absent": hard})

            told = await seen(leila, call)

            kept = await store.read(lambda tx: tx.flags.get(f"aap:{call['id']}"))
            assert told["status"] == "denied"
            assert secret not in str(told)
            assert secret not in str(kept)
            same = {"tool": "issue-refund", "arguments": noted, "timeout": "10m"}
            headers = {"idempotency-key": "k1"}
            again = await leila.post("/aap/v1/requests", json=same, headers=headers)
            assert (again.status_code, again.json()["id"]) == (200, call["id"])
    await world.workflow.shut_down(1)
    await store.close()


async def test_a_token_taken_away_while_a_call_waits_for_its_turn_speaks_no_more(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    port = int(outside.url.rpartition(":")[2])
    head = b"POST /v1/proposals HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer leila-token\r\n"
    reader, slow = await asyncio.open_connection("127.0.0.1", port)
    slow.write(head + b"Expect: 100-continue\r\nContent-Length: 262144\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")  # its turn has come
    others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    for other_reader, other in others:
        other.write(head + b"Expect: 100-continue\r\nContent-Length: 262144\r\n\r\n")
        await other_reader.readuntil(b"\r\n\r\n")
    call = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "1h"}
    body = {"json": call, "headers": {"idempotency-key": "k1"}}
    waiting = asyncio.create_task(leila.post("/aap/v1/requests", **body))
    for _ in range(20):  # each a turn of the loop, in which what was sent is read
        await leila.get("/v1/whoami")
    assert not waiting.done()
    known = dict(outside.world.workflow.policy.agents)
    await outside.world.adopts(agents=known | {"leila": replace(known["leila"], token_env=None)})
    for each in (slow, *(other for _, other in others)):
        each.close()

    assert (await waiting).status_code == 401
    assert await outside.world.audit("submitted") == []


async def test_two_tokens_in_one_message_are_none(outside: Outside) -> None:
    async with outside.client(None) as nobody:
        for tokens in (("leila-token", "nour-token"), ("leila-token", "leila-token")):
            both = [("authorization", f"Bearer {token}") for token in tokens]
            for path in ("/v1/whoami", "/aap/v1/requests/x", "/mcp"):
                assert (await nobody.get(path, headers=both)).status_code == 401
