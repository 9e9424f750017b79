"""Every refusal has a reason and says whether to try again, at whatever place it is met."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from bot.intake.http.table import OPERATIONS
from lifecycle.policy import Source
from lifecycle.ports import StoreUnavailable
from tests.bot.intake.conftest import TOKENS, Outside, code_of
from tests.builders import PROD, a_document

KEY = "AKIA" + "IOSFODNN7EXAMPLE"
FLAWS = [
    (b"{", "malformed_json"),
    (b"\xff", "invalid_unicode"),
    (b'{"a":NaN}', "non_finite_number"),
    (b'{"a":1,"a":2}', "duplicate_key"),
    (b"[]", "malformed_json"),
]


@pytest.mark.parametrize(("body", "code"), FLAWS)
async def test_what_is_no_json_is_400_wherever_it_is_sent(
    outside: Outside, leila: httpx.AsyncClient, body: bytes, code: str
) -> None:
    async with outside.client("sensor-token") as sensor:
        assert code_of(await sensor.post("/v1/evidence", content=body)) == (400, code)
    assert code_of(await leila.post("/v1/proposals", content=body)) == (400, code)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/aap/v1/requests"),
        ("GET", "/aap/v1/requests/x"),
        ("POST", "/mcp"),
        ("GET", "/v1/proposals"),
    ],
)
async def test_who_has_no_token_is_told_of_which_kind_one_is(
    outside: Outside, method: str, path: str
) -> None:
    async with outside.client(None) as stranger:
        answer = await stranger.request(method, path)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("body", "more", "refusal"),
    [
        (b"x" * 300_000, {}, (413, "invalid_request", "too_large")),
        (b"{}", {"content-encoding": "gzip"}, (415, "invalid_request", "invalid_request")),
        (b"{}", {}, (400, "invalid_request", "invalid_request")),
    ],
)
async def test_what_is_wrong_with_a_call_is_told_as_aap_writes_errors(
    leila: httpx.AsyncClient, body: bytes, more: dict[str, str], refusal: tuple[int, str, str]
) -> None:
    headers = {"idempotency-key": "k"} | more
    answer = await leila.post("/aap/v1/requests", content=body, headers=headers)

    told = answer.json()["error"]
    assert (answer.status_code, told["type"], told["code"]) == refusal
    assert ("accept-encoding" in answer.headers) is (answer.status_code == 415)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"server": None}, "server: leave it out, or send a string."),
        ({"context": "x"}, "context: leave it out, or send an object."),
        ({"arguments": "{}"}, "arguments: send an object."),
        ({"args": {}}, "args is no field of a submission."),
    ],
)
async def test_aap_is_told_what_a_field_of_it_takes_and_which_is_none(
    leila: httpx.AsyncClient, changes: dict[str, Any], words: str
) -> None:
    call = {"tool": "issue-refund", "arguments": {}, "timeout": "1m"} | changes
    answer = await leila.post("/aap/v1/requests", json=call, headers={"idempotency-key": "k"})

    assert (answer.status_code, answer.json()["error"]["message"]) == (400, words)


async def test_a_store_that_cannot_be_read_is_told_to_aap_as_later(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread(_view: Any) -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(outside.world.store, "read", unread)
    answer = await leila.get("/aap/v1/requests/x")

    told = answer.json()["error"]
    assert (told["type"], told["code"]) == ("unavailable", "audit_unavailable")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")


async def test_all_that_is_wrong_with_a_packet_is_told(outside: Outside) -> None:
    async with outside.client("sensor-token") as sensor:
        answer = await sensor.post("/v1/evidence", json={"evidence_id": "..", "x": 1})
    codes = [each["code"] for each in answer.json()["errors"]]
    assert answer.status_code == 422
    assert codes[0] == answer.json()["reason"]
    assert {"unknown_field", "invalid_identifier"} <= set(codes)


async def test_an_id_of_another_source_is_the_conflict_that_is_described(outside: Outside) -> None:
    policy, now_ms = outside.world.workflow.policy, outside.world.clock.now_ms()
    sources = dict(policy.sources) | {"other": Source("other", token_env="T_NOUR")}
    known = dict(policy.agents)
    await outside.world.adopts(
        sources=sources, agents=known | {"nour": replace(known["nour"], token_env=None)}
    )
    statuses = []
    for token, source in (("sensor-token", "crm-sensor"), (TOKENS["T_NOUR"], "other")):
        packet = {"evidence_id": "e1", "source": source, "observed_at_ms": now_ms, "payload": {}}
        async with outside.client(token) as sensor:
            statuses.append((await sensor.post("/v1/evidence", json=packet)).status_code)
    described = next(each for each in OPERATIONS if each.name == "evidence")
    assert statuses == [201, 409]
    assert 409 in described.problems


async def test_a_source_hears_why_it_sees_no_proposals(outside: Outside) -> None:
    async with outside.client("sensor-token") as sensor:
        answer = await sensor.get("/v1/proposals")
    assert code_of(answer) == (403, "unknown_agent")
    assert answer.json()["retry"] == "never"


@pytest.mark.parametrize("path", ["/v1/proposals", "/healthz"])
async def test_a_store_that_is_away_is_a_reason_to_come_again(
    outside: Outside, leila: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def away(_unit: Any) -> Any:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(outside.world.store, "read", away)
    answer = await leila.get(path)
    assert code_of(answer) == (503, "audit_unavailable")
    assert (answer.json()["retry"], answer.headers["retry-after"]) == ("later", "60")


async def test_what_http_itself_refuses_says_what_to_do(leila: httpx.AsyncClient) -> None:
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/proposals", 405),
        ("GET", "/mcp", 405),
    ):
        answer = await leila.request(method, path)
        assert code_of(answer) == (status, None)
        assert answer.json()["retry"] == "after_change"


async def test_a_query_that_means_nothing_has_a_code(leila: httpx.AsyncClient) -> None:
    await leila.post("/v1/proposals", json=a_document(PROD))
    answer = await leila.get("/v1/proposals/p1?wait=long")
    assert code_of(answer) == (400, "wrong_type")
    assert answer.json()["retry"] == "after_change"
    assert code_of(await leila.get("/v1/tasks/t9")) == (404, "unknown_proposal")


@pytest.mark.parametrize("path", ["", "/document", "/explain", "/audit"])
async def test_a_credential_in_place_of_an_id_is_not_repeated(
    leila: httpx.AsyncClient, path: str
) -> None:
    answer = await leila.get(f"/v1/proposals/{KEY}{path}")
    assert code_of(answer) == (404, "unknown_proposal")
    assert KEY not in answer.text
