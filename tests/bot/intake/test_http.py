"""Proposing at the HTTP door over a real socket: statuses, problem documents, who may."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.bot.intake.conftest import Outside, code_of, submitted
from tests.builders import MAIL, PROD, a_document
from tests.fakes.tools import answering

SEARCH: dict[str, Any] = {
    "tool": "search",
    "action_type": "read",
    "target": MAIL["target"] | {"resource_type": "library"},
    "parameters": {"query": "terms"},
}


def a_search(**changes: Any) -> dict[str, Any]:
    return a_document(MAIL | SEARCH, **changes)


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
    execution = answer.json()["execution"]
    assert execution["outcome"] == "done"
    assert "3" in json.dumps(answer.json()["result"])
    assert execution["receipt"] == answer.json()["result"]
    keys = {"verb", "attempt", "outcome", "receipt", "window_opens_at", "window_closes_at"}
    assert execution.keys() == keys


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
    for path in ("/v1/proposals", "/v1/proposals:check", "/v1/evidence"):
        answer = await leila.post(path, content=gzip.compress(b"{}"), headers=headers)
        assert (answer.status_code, answer.json()["retry"]) == (415, "after_change")
        assert answer.headers["accept-encoding"] == "identity"
    plain = ("content-encoding", "identity")
    for more in [("content-encoding", "gzip")], [("content-encoding", "br"), plain]:
        packed = [plain, *more]  # a proxy may go by the second line, or by both
        answer = await leila.post("/v1/proposals", json=a_document(PROD), headers=packed)
        assert answer.status_code == 415
    answer = await leila.post("/v1/proposals", json=a_document(PROD), headers=[plain])
    assert answer.status_code == 202


async def test_no_answer_leads_to_a_host_that_the_client_names(leila) -> None:
    for path in ("/v1/proposals/", "/v1/tools/", "/mcp/", "/aap/v1/requests/"):
        answer = await leila.get(path, headers={"host": "evil.example"})
        assert answer.status_code in (404, 405)
        assert "location" not in answer.headers


async def test_a_path_or_a_method_that_does_not_exist_is_told_with_what_does(leila) -> None:
    lost = await leila.post("/v1/proposals/p1/report", json={})
    wrong = await leila.delete("/v1/proposals")

    assert (lost.status_code, wrong.status_code) == (404, 405)
    assert "/openapi.json" in lost.json()["detail"]
    assert "POST" in wrong.json()["detail"]
    assert "GET" in wrong.json()["detail"]


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
    assert bad.json()["explanation"] == bad.json()["errors"][0]["suggestion"]
    assert told["explanation"] == "Sentinel found nothing against it."
    unread = await leila.post("/v1/proposals:check", content=b"{")
    assert code_of(unread) == (400, "malformed_json")
    assert await outside.world.audit("submitted") == []
    assert (await leila.get("/v1/proposals")).json()["proposals"] == []


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
