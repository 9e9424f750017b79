"""The HTTP door over a real socket: statuses, problem documents, one's own and nobody else's."""

from __future__ import annotations

import asyncio
import gzip
import json
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from typing import Any

import httpx
import pytest

from lifecycle.canonical import s256
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.bot.intake.conftest import Outside, code_of
from tests.builders import MAIL, PROD, REFUND, a_document
from tests.fakes.tools import answering

SEARCH: dict[str, Any] = {
    "tool": "search",
    "action_type": "read",
    "target": MAIL["target"] | {"resource_type": "library"},
    "parameters": {"query": "terms"},
}


def a_search(**changes: Any) -> dict[str, Any]:
    return a_document(MAIL | SEARCH, **changes)


async def submitted(client: httpx.AsyncClient, base: Any = MAIL, **changes: Any) -> httpx.Response:
    return await client.post("/v1/proposals", json=a_document(base, **changes))


async def test_a_proposal_that_waits_for_people_is_202_and_has_a_place(leila, outside) -> None:
    answer = await submitted(leila, PROD)
    assert code_of(answer) == (202, None)
    assert answer.json()["state"] == "sentinel_approved"
    assert answer.headers["location"] == f"{outside.url}/v1/proposals/p1"
    assert (await leila.get("/v1/proposals/p1")).json()["tool"] == "production-deploy"


async def test_a_read_that_has_ended_is_201_with_its_result(leila, outside) -> None:
    outside.world.tool("search").on["execute"] = answering({"found": 3})
    answer = await leila.post("/v1/proposals", json=a_search())
    assert code_of(answer) == (201, "tool_succeeded")
    assert answer.json()["execution"]["outcome"] == "done"
    assert "3" in json.dumps(answer.json()["result"])


async def test_the_same_document_again_is_200_and_no_second_one(leila) -> None:
    await submitted(leila, PROD)
    again = await submitted(leila, PROD)
    assert again.status_code == 200
    assert again.json()["deduplicated"] is True
    twin = await submitted(leila, PROD, proposal_id="p2")
    assert (twin.status_code, twin.json()["proposal_id"]) == (200, "p1")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", (400, "malformed_json")),
        (b"", (400, "malformed_json")),
        (b'{"a":1,"a":2}', (400, "duplicate_key")),
        (b'{"a":NaN}', (400, "non_finite_number")),
        (b'{"a":"\xff"}', (400, "invalid_unicode")),
        (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", (422, "too_deep")),
        (b"{}", (422, "unknown_kind")),
        (b" " * 300_000, (413, "too_large")),
    ],
)
async def test_what_cannot_be_read_says_so(leila, body: bytes, expected: Any) -> None:
    answer = await leila.post("/v1/proposals", content=body)
    assert code_of(answer) == expected
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["error"] == expected[1]
    assert problem["outcome"] == "deny"
    assert problem["errors"][0]["code"] == expected[1]
    assert problem["retry"] == "after_change"


@pytest.mark.parametrize(
    ("base", "changes", "expected"),
    [
        (MAIL, {"tool": "nothing"}, (422, "unknown_tool")),
        (MAIL, {"actor": "nour"}, (422, "actor_mismatch")),
        (PROD, {"justification": "short"}, (422, "insufficient_justification")),
        (
            MAIL,
            {"parameters": MAIL["parameters"] | {"body": "final warning"}},
            (422, "prohibited_content"),
        ),
        (MAIL, {"tool": "financial-transfer", "action_type": "transact"}, (403, "tool_blocked")),
        (MAIL, {"tool": "delete-data", "action_type": "delete"}, (403, "missing_role")),
    ],
)
async def test_a_refusal_has_the_status_of_its_kind(
    outside: Outside, base: Any, changes: Any, expected: Any
) -> None:
    tools = dict(outside.world.workflow.policy.tools)
    tools["delete-data"] = replace(tools["delete-data"], roles=frozenset({"admin"}))
    await outside.world.adopts(tools=tools)
    async with outside.client() as client:
        assert code_of(await submitted(client, base, **changes)) == expected


async def test_an_id_that_no_address_can_name_is_refused(outside: Outside) -> None:
    packet = {"source": "crm-sensor", "observed_at_ms": outside.world.clock.now_ms()}
    async with outside.client() as leila, outside.client("sensor-token") as sensor:
        for value in (".", "..", "...", "a/b", ""):
            by_id = await submitted(leila, PROD, proposal_id=value)
            by_task = await submitted(leila, PROD, task_id=value)
            packet |= {"evidence_id": value, "payload": {}}
            recorded = await sensor.post("/v1/evidence", json=packet)
            codes = [code_of(answer) for answer in (by_id, by_task, recorded)]
            assert codes[1:] == [(422, "invalid_identifier")] * 2, value
            assert codes[0] == (422, "invalid_identifier" if value else "V-PROP-001")
    assert await outside.world.audit("submitted") == []


async def test_the_same_id_for_another_content_is_409(leila) -> None:
    await submitted(leila, PROD)
    other = await submitted(leila, PROD, parameters={"version": "v43"})
    assert code_of(other) == (409, "id_conflict")


async def test_a_third_deployment_within_a_minute_is_429_and_says_when(leila) -> None:
    for number in range(2):
        await submitted(leila, PROD, proposal_id=f"p{number}", parameters={"version": f"v{number}"})
    third = await submitted(leila, PROD, proposal_id="p9", parameters={"version": "v9"})
    assert code_of(third) == (429, "rate_limited")
    assert third.json()["retry"] == "later"
    assert 1 <= int(third.headers["retry-after"]) <= 60
    assert third.json()["retry_after_s"] == int(third.headers["retry-after"])


@pytest.mark.parametrize("token", [None, "wrong", "leila-token ", "sensor-token"])
async def test_only_agents_propose(outside: Outside, token: str | None) -> None:
    async with outside.client(token and token.strip()) as client:
        answer = await submitted(client, PROD)
    expected = 202 if token == "leila-token " else 401
    assert answer.status_code == expected
    if expected == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert (await outside.world.audit("refused"))[-1]["reason"] == "unknown_agent"


async def test_strangers_fill_one_row_of_the_trail_a_minute(outside: Outside) -> None:
    async with outside.client(None) as stranger:
        for seconds, rows in ((0, 1), (0, 1), (59, 1), (1, 2), (0, 2)):
            outside.world.clock.advance(seconds)
            assert (await submitted(stranger, PROD)).status_code == 401
            told = await outside.world.audit("refused")
            assert len(told) == rows
    assert [row["details"]["account"] for row in told] == ["", "and 2 more since the row before"]


async def test_a_packed_body_is_not_unpacked(leila, outside) -> None:
    headers = {"content-encoding": "gzip"}
    for path in ("/v1/proposals", "/v1/proposals:check", "/aap/v1/requests"):
        sent = headers | {"idempotency-key": "k"}
        answer = await leila.post(path, content=gzip.compress(b"{}"), headers=sent)
        assert (answer.status_code, answer.json()["retry"]) == (415, "after_change")
        assert answer.headers["accept-encoding"] == "identity"
    answer = await leila.post(
        "/v1/proposals", json=a_document(PROD), headers={"content-encoding": "identity"}
    )
    assert answer.status_code == 202


async def test_no_answer_leads_to_a_host_that_the_client_names(leila) -> None:
    for path in ("/v1/proposals/", "/v1/tools/", "/mcp/", "/aap/v1/requests/"):
        answer = await leila.get(path, headers={"host": "evil.example"})
        assert answer.status_code in (404, 405)
        assert "location" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/v1/proposals/p1",
        "/v1/proposals/p1/document",
        "/v1/proposals/p1/explain",
        "/v1/proposals/p1/audit",
        "/v1/tasks/t1",
    ],
)
async def test_an_agent_sees_only_its_own(outside: Outside, path: str) -> None:
    async with outside.client() as leila, outside.client("nour-token") as nour:
        await submitted(leila, PROD, task_id="t1")
        await leila.delete("/v1/proposals/p1")
        absent = path.replace("/p1", "/p0").replace("/t1", "/t0")
        theirs, nobodys = await nour.get(path), await nour.get(absent)
        assert (await leila.get(path)).status_code == 200
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.json() | {"proposal_id": ""} == nobodys.json() | {"proposal_id": ""}
        assert (await nour.delete("/v1/proposals/p1")).status_code == 404
        assert (await nour.get("/v1/proposals")).json() == {"proposals": [], "next_cursor": None}


async def test_the_document_is_served_as_stored(leila) -> None:
    spelled = json.dumps(a_document(PROD), indent=3, ensure_ascii=True)
    answer = await leila.post("/v1/proposals", content=spelled.encode())
    served = await leila.get("/v1/proposals/p1/document")
    assert "sha256:" + sha256(served.content).hexdigest() == answer.json()["digest"]


async def test_the_r3_document_is_named_by_the_hash_of_its_bytes(leila, outside) -> None:
    await submitted(leila, PROD)
    shown = (await leila.get("/v1/proposals/p1")).json()
    served = await leila.get(shown["r3_uri"])
    assert s256(served.content) == shown["r3_s256"]
    document = served.json()
    assert set(document) == {"vocabulary", "operations", "display", "parameters"}
    for section in ("## Action", "## Details", "## Irreversible"):
        assert section in document["display"]["detail"]
    async with outside.client("nour-token") as nour:
        assert (await nour.get(shown["r3_uri"])).status_code == 404


async def test_checking_changes_nothing(leila, outside) -> None:
    good = await leila.post("/v1/proposals:check", json=a_document(PROD))
    assert good.status_code == 200
    told = good.json()
    assert (told["verdict"], told["tier"], told["quorum"]) == ("passed", "CONFIRM", 1)
    assert told["digest"].startswith("sha256:")
    bad = await leila.post(
        "/v1/proposals:check",
        json=a_document(MAIL, parameters=MAIL["parameters"] | {"body": "final warning"}),
    )
    assert bad.json()["verdict"] == "rejected"
    assert bad.json()["findings"][0]["rule"] == "prohibited_content"
    unread = await leila.post("/v1/proposals:check", content=b"{")
    assert code_of(unread) == (400, "malformed_json")
    assert await outside.world.audit("submitted") == []
    assert (await leila.get("/v1/proposals")).json()["proposals"] == []


async def test_waiting_ends_when_a_person_decides(leila, outside) -> None:
    await submitted(leila, PROD)
    await outside.world.shows()
    waiting = asyncio.create_task(leila.get("/v1/proposals/p1?wait=15"))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    await outside.world.rejects("ben", "p1", "not on a Monday")
    answer = await asyncio.wait_for(waiting, 3)
    assert (answer.json()["state"], answer.json()["explanation"]) == ("rejected", "not on a Monday")


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


async def test_waiting_ends_with_the_time_and_not_before(leila) -> None:
    await submitted(leila, PROD)
    answer = await asyncio.wait_for(leila.get("/v1/proposals/p1?wait=1"), 5)
    assert answer.json()["state"] == "sentinel_approved"
    known = await asyncio.wait_for(leila.get("/v1/proposals/p1?wait=50&seen=pending"), 5)
    assert known.json()["state"] == "sentinel_approved"


@pytest.mark.parametrize(
    "query",
    ["wait=x", "wait=-1", "wait=61", "wait=", "seen=gone", "wait=1e3", "wait=٣"],
)
async def test_a_query_that_means_nothing_is_400(leila, query: str) -> None:
    await submitted(leila, PROD)
    assert (await leila.get(f"/v1/proposals/p1?{query}")).status_code == 400


async def test_pages_are_whole_and_end(leila) -> None:
    for number in range(5):
        to = {"to": f"{number}@shop.example", "subject": "x", "body": "y"}
        answer = await submitted(leila, MAIL, proposal_id=f"m{number}", parameters=to)
        assert answer.status_code == 202
    found, cursor = [], ""
    while cursor is not None:
        page = (await leila.get(f"/v1/proposals?limit=2{cursor}")).json()
        found += [each["proposal_id"] for each in page["proposals"]]
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    assert found == ["m4", "m3", "m2", "m1", "m0"]
    assert len((await leila.get("/v1/proposals?state=completed")).json()["proposals"]) == 0
    assert len((await leila.get("/v1/proposals?tool=send-email")).json()["proposals"]) == 5
    assert (await leila.get("/v1/proposals?cursor=AAAA")).status_code == 400


async def test_a_page_of_tasks_ends_at_a_task_of_ones_own(outside: Outside) -> None:
    async with outside.client() as leila, outside.client("nour-token") as nour:
        for client, actor, tasks in ((leila, "leila", ("a1", "c1")), (nour, "nour", ("b1", "b2"))):
            for task in tasks:
                document = a_document(PROD, proposal_id=f"p-{task}", actor=actor, task_id=task)
                document["parameters"] = {"version": task}
                assert (await client.post("/v1/proposals", json=document)).status_code == 202
                await client.delete(f"/v1/proposals/p-{task}")
        first = (await leila.get("/v1/tasks?limit=1")).json()
        rest = (await leila.get(f"/v1/tasks?cursor={first['next_cursor']}")).json()

    found = [[each["task_id"] for each in page["tasks"]] for page in (first, rest)]
    assert (found, rest["next_cursor"]) == ([["a1"], ["c1"]], None)
    assert b64decode(first["next_cursor"] + "==") == b"0:a1"


async def test_withdrawing_ends_it(leila) -> None:
    await submitted(leila, PROD)
    assert (await leila.delete("/v1/proposals/p1")).json()["state"] == "rejected"
    assert code_of(await leila.delete("/v1/proposals/p1")) == (409, "already_decided")


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


async def test_evidence_comes_from_sources_alone(outside: Outside) -> None:
    packet = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": outside.world.clock.now_ms(),
        "payload": {"balance": 5},
    }
    async with outside.client() as leila, outside.client("sensor-token") as sensor:
        refused = await leila.post("/v1/evidence", json=packet)
        assert code_of(refused) == (403, "not_a_source")
        assert (await sensor.post("/v1/evidence", json=packet)).status_code == 201
        assert (await sensor.get("/v1/proposals")).status_code == 403
    kept = await outside.world.store.read(lambda tx: tx.evidence.get("e1"))
    assert kept is not None
    assert kept.payload == {"balance": 5}


async def test_the_house_is_described(leila) -> None:
    tools = (await leila.get("/v1/tools")).json()
    assert tools["advisory"] is True
    assert {each["name"] for each in tools["tools"]} >= {"search", "issue-refund"}
    policy = (await leila.get("/v1/policy")).json()
    assert policy["policyDigest"].startswith("pol1_")
    assert policy["normalizerId"] == "signoff.jcs.v1"
    assert (await leila.get("/v1/schema")).json()["title"] == "Proposal"
    explained = (await submitted(leila, PROD), await leila.get("/v1/proposals/p1/explain"))[1]
    assert len(explained.json()["verdict"]["results"]) == 9
    trail = (await leila.get("/v1/proposals/p1/audit")).json()["entries"]
    assert trail[0]["kind"] == "submitted"


async def test_a_store_that_cannot_be_written_is_no_health(outside: Outside) -> None:
    async with outside.client(None) as stranger:
        outside.world.workflow.world.unwritten.failed(0, "disk full")
        answer = await stranger.get("/healthz")
        assert (answer.status_code, answer.json()["detail"]) == (
            503,
            "The store cannot be written.",
        )


async def test_strangers_learn_health_and_numbers_only(outside: Outside) -> None:
    async with outside.client() as leila, outside.client(None) as stranger:
        await submitted(leila, PROD)
        await leila.post("/v1/proposals", content=b"{")
        assert (await stranger.get("/healthz")).json() == {"status": "ok", "frozen": False}
        numbers = (await stranger.get("/metrics")).text
        assert 'signoff_proposals{state="sentinel_approved",tier="CONFIRM"} 1.0' in numbers
        assert 'signoff_refused_documents_total{code="malformed_json"} 1.0' in numbers
        for path in ("/v1/tools", "/v1/policy", "/v1/schema", "/v1/tasks", "/v1/proposals"):
            assert (await stranger.get(path)).status_code == 401


async def test_numbers_follow_a_life(leila, outside) -> None:
    await submitted(leila, PROD)
    await leila.get("/metrics")
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    body = MAIL["parameters"] | {"body": "final warning"}
    await submitted(leila, MAIL, proposal_id="p2", parameters=body)
    numbers = (await leila.get("/metrics")).text
    assert 'signoff_proposals{state="sentinel_approved",tier="CONFIRM"} 0.0' in numbers
    assert 'signoff_proposals{state="completed",tier="CONFIRM"} 1.0' in numbers
    assert 'signoff_decisions_total{reason="tool_succeeded",state="completed"} 1.0' in numbers
    assert (
        'signoff_findings_total{code="prohibited_phrase",rule="prohibited_content"} 1.0' in numbers
    )
    assert Attention.OVERDUE.value in numbers


async def test_no_door_for_agents_approves(leila) -> None:
    paths = (await leila.get("/openapi.json")).json()["paths"]
    words = json.dumps(list(paths)).lower()
    assert not any(word in words for word in ("approve", "reject", "review", "sign", "settle"))
    await submitted(leila, PROD)
    for method in ("PUT", "PATCH", "POST"):
        answer = await leila.request(method, "/v1/proposals/p1", json={"state": "executing"})
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == {"DELETE", "GET", "HEAD"}


async def test_a_reload_changes_tokens_at_once(outside: Outside) -> None:
    agents = dict(outside.world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], token_env="T_NOUR")
    agents["nour"] = replace(agents["nour"], token_env=None)
    async with outside.client() as old, outside.client("nour-token") as new:
        assert (await old.get("/v1/tools")).status_code == 200
        await outside.world.adopts(agents=agents)
        assert (await old.get("/v1/tools")).status_code == 401
        assert (await submitted(new, PROD)).status_code == 202


async def test_a_token_of_two_is_nobodys(outside: Outside) -> None:
    agents = dict(outside.world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], token_env="T_NOUR")
    await outside.world.adopts(agents=agents)
    async with outside.client("nour-token") as client:
        assert (await client.get("/v1/tools")).status_code == 401


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
