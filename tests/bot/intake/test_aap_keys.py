"""AAP: what was refused for now leaves the key free, and what was denied is bounded and told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.permit import KeyRing
from lifecycle.policy import Rate
from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from lifecycle.verdict import PASSED
from lifecycle.world import Law
from sentinel_rules import load_rules
from tests.bot.intake.conftest import Outside
from tests.lifecycle.laws import law

CALL = {
    "tool": "issue-refund",
    "arguments": {"amount": "12.00", "currency": "USD"},
    "timeout": "10s",
}
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


async def asked(client: httpx.AsyncClient, key: str, **changes: Any) -> httpx.Response:
    return await client.post(
        "/aap/v1/requests", json=CALL | changes, headers={"idempotency-key": key}
    )


def other(amount: str) -> dict[str, Any]:
    return {"arguments": {"amount": amount, "currency": "USD"}}


async def limited(outside: Outside) -> None:
    """Let leila refund once a minute, and have one proposal open at a time."""
    policy = outside.world.workflow.policy
    tools, agents = dict(policy.tools), dict(policy.agents)
    tools["issue-refund"] = replace(tools["issue-refund"], rate=Rate(1, 60))
    await outside.world.adopts(tools=tools, agents=agents)


async def test_a_short_call_that_was_refused_for_now_may_be_sent_again(leila, outside) -> None:
    await limited(outside)
    assert (await asked(leila, "k0", **other("1.00"))).status_code == 201

    refused = await asked(leila, "k1")
    outside.world.clock.advance(int(refused.headers["retry-after"]))
    again = await asked(leila, "k1")

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert (again.status_code, again.json()["status"]) == (201, "pending")
    found = await outside.world.proposal(again.json()["id"])
    window = found.read().time_window
    assert window is not None
    assert window.valid_until_ms - outside.world.clock.now_ms() == 10_000
    assert (await asked(leila, "k1")).json() == again.json()


async def test_what_could_not_be_written_leaves_the_key_free(
    leila, outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_unit: Any) -> Any:
        raise StoreUnavailable("disk full")

    with monkeypatch.context() as ill:
        ill.setattr(outside.world.store, "write", full)
        assert (await asked(leila, "k1")).status_code == 503
    outside.world.clock.advance(60)
    assert (await asked(leila, "k1")).json()["status"] == "pending"


async def test_a_key_that_was_refused_for_now_stands_for_nothing_yet(leila, outside) -> None:
    await limited(outside)
    await asked(leila, "k0", **other("1.00"))
    assert (await asked(leila, "k1")).status_code == 429
    outside.world.clock.advance(60)
    assert (await asked(leila, "k1", **other("3.00"))).status_code == 201


async def test_what_must_wait_may_be_begun_later_under_the_same_key(leila, outside) -> None:
    await outside.world.workflow.freeze("incident", outside.world.sender("ana"))
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.workflow.thaw(outside.world.sender("ana"))
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    await outside.world.workflow.freeze("incident", outside.world.sender("ana"))
    path, headers = f"/aap/v1/requests/{call['id']}/consume", {"idempotency-key": "u1"}

    early = await leila.post(path, headers=headers)
    await outside.world.workflow.thaw(outside.world.sender("ana"))
    late = await leila.post(path, headers=headers)

    assert (early.status_code, early.json()["error"]["code"]) == (503, "frozen")
    assert (late.status_code, "consumption" in late.json()) == (200, True)


async def test_a_rule_that_makes_it_wait_uses_no_approval_up(leila, outside) -> None:
    rules = dict(outside.world.workflow.policy.rules)
    freeze = {"from": "2026-03-02T12:10:00Z", "until": "2026-03-02T12:20:00Z"}
    window = {"freezes": [freeze], "hours": {}}
    rules["change_window_open"] = replace(rules["change_window_open"], settings=window)
    await outside.world.adopts(rules=rules)
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    path, headers = f"/aap/v1/requests/{call['id']}/consume", {"idempotency-key": "u1"}

    outside.world.clock.advance(11 * 60)
    early = await leila.post(path, headers=headers)
    outside.world.clock.advance(10 * 60)
    late = await leila.post(path, headers=headers)

    assert (early.status_code, early.json()["error"]["code"]) == (503, "change_freeze")
    assert (late.status_code, "consumption" in late.json()) == (200, True)


async def test_a_rule_that_is_late_at_a_use_uses_no_approval_up(leila, outside) -> None:
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    path, headers = f"/aap/v1/requests/{call['id']}/consume", {"idempotency-key": "u1"}
    policy, over = outside.world.workflow.policy, threading.Event()
    fair = Sentinel(load_rules(policy.rules))
    hangs = law("hangs", lambda: (over.wait(60), PASSED)[1])
    outside.world.workflow.world.law = Law(policy, Sentinel([*fair.rules, hangs], limit_s=0.05))
    try:
        late = await leila.post(path, headers=headers)
    finally:
        over.set()
        outside.world.workflow.world.law = Law(policy, fair)
    again = await leila.post(path, headers=headers)

    told = (late.status_code, late.json()["error"]["code"], late.headers["retry-after"])
    assert told == (503, "rule_timeout", "5")
    assert (again.status_code, "consumption" in again.json()) == (200, True)


async def test_what_is_decided_while_one_looks_is_not_waited_for(
    leila, outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.shows()
    read, looks = outside.world.store.read, 0

    async def counting(view: Any) -> Any:
        nonlocal looks
        looks += 1
        found = await read(view)
        if looks == 2:  # the door knows the call, and half of how it stands
            await outside.world.approves("ana", call["id"], "seen")
        return found

    monkeypatch.setattr(outside.world.store, "read", counting)
    async with asyncio.timeout(5):
        found = await leila.get(f"/aap/v1/requests/{call['id']}?wait=60s")
    assert found.json()["status"] == "approved"


# -- what is denied at once -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "code"), [("nothing", "unknown_tool"), ("production-deploy", "tool_mismatch")]
)
async def test_a_call_of_no_agents_tool_leaves_its_row(leila, outside, tool, code) -> None:
    assert (await asked(leila, "k1", tool=tool)).json()["status"] == "denied"

    (row,) = await outside.world.audit("refused")
    assert (row["reason"], row["actor"]["id"]) == (code, "leila")
    assert row["details"]["bytes_digest"].startswith("sha256:")


async def test_a_call_of_a_tool_that_nobody_may_use_leaves_its_trace(leila, outside) -> None:
    call = (await asked(leila, "k1", tool="financial-transfer")).json()

    stored = await outside.world.proposal(call["id"])
    assert (call["status"], stored.state, stored.reason) == (
        "denied",
        State.REJECTED,
        "tool_blocked",
    )


async def test_denied_calls_are_kept_up_to_a_number_for_each_agent(
    leila, outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.aap.denials._MOST", 3)
    calls = [(await asked(leila, f"k{n}", tool="nothing")).json() for n in range(7)]
    async with outside.client("nour-token") as nour:
        theirs = (await asked(nour, "k0", tool="nothing")).json()
        assert (await nour.get(f"/aap/v1/requests/{theirs['id']}")).status_code == 200
        assert (await nour.get(f"/aap/v1/requests/{calls[6]['id']}")).status_code == 404

    paths = [f"/aap/v1/requests/{call['id']}" for call in calls]
    found = [(await leila.get(path)).status_code for path in paths]
    assert found == [404] * 4 + [200] * 3
    assert (await leila.get(paths[6])).json() == calls[6]
    again = await asked(leila, "k6", tool="nothing")
    assert (again.status_code, again.json()) == (200, calls[6])
    assert (await asked(leila, "k6", tool="other")).status_code == 409
    assert (await asked(leila, "k0", tool="nothing")).json()["status"] == "denied"


@pytest.mark.parametrize(
    ("body", "key", "code"),
    [
        (b"{", "k", "malformed_json"),
        (b'{"tool":"a","tool":"b"}', "k", "duplicate_key"),
        (b'{"tool":NaN}', "k", "non_finite_number"),
        (b'{"approve":true}', "k", "unknown_field"),
        (b'{"tool":1}', "k", "wrong_type"),
        (b'{"tool":"a","arguments":{},"timeout":"soon"}', "k", "wrong_type"),
        (b"{}", "", "invalid_identifier"),
        (b" " * 300_000, "k", "too_large"),
    ],
)
async def test_what_is_no_submission_leaves_its_row(leila, outside, body, key, code) -> None:
    headers = {"idempotency-key": key} if key else {}
    answer = await leila.post("/aap/v1/requests", content=body, headers=headers)

    assert answer.status_code in (400, 413)
    (row,) = await outside.world.audit("refused")
    assert (row["reason"], row["actor"]["id"]) == (code, "leila")


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"status": "done"},
        {"status": None},
        {"status": ["succeeded"]},
        {"status": "succeeded", "note": 1},
        {"status": "succeeded", "receipt": {"id": "r1"}},
    ],
)
async def test_what_is_no_outcome_is_refused_and_leaves_the_call_as_it_was(
    leila, outside, told
) -> None:
    call = (await asked(leila, "k1")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    at = f"/aap/v1/requests/{call['id']}"
    assert (await leila.post(f"{at}/consume", headers={"idempotency-key": "u1"})).is_success

    refused = await leila.post(f"{at}/outcome", json=told)

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "invalid_request"
    assert (await leila.post(f"{at}/outcome", json={"status": "succeeded"})).is_success


async def test_of_two_keys_none_is_taken(leila, outside) -> None:
    twice = [("idempotency-key", "k1"), ("idempotency-key", "k2")]
    asking = await leila.post("/aap/v1/requests", json=CALL, headers=twice)
    call = (await asked(leila, "k1")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    using = await leila.post(f"/aap/v1/requests/{call['id']}/consume", headers=twice)

    for answer in (asking, using):
        told = (answer.status_code, answer.json()["error"]["code"])
        assert told == (400, "missing_idempotency_key")
    assert "consumption" not in (await leila.get(f"/aap/v1/requests/{call['id']}")).json()


async def test_who_is_no_agent_leaves_a_row_and_strangers_share_one(outside: Outside) -> None:
    async with outside.client(None) as stranger, outside.client("sensor-token") as sensor:
        for client in (stranger, stranger, sensor):
            assert (await asked(client, "k")).status_code == 401

    rows = await outside.world.audit("refused")
    assert [row["reason"] for row in rows] == ["unknown_agent", "unknown_agent"]
    assert [(row["actor"] or {}).get("id") for row in rows] == [None, "crm-sensor"]


async def test_a_call_is_told_as_ever_after_its_permits_key_was_rotated_out(leila, outside) -> None:
    answer = (await asked(leila, "k1", timeout="10m")).json()
    await outside.world.shows()
    await outside.world.approves("ana", answer["id"], "ok")
    path = f"/aap/v1/requests/{answer['id']}"
    await leila.post(f"{path}/consume", headers={"idempotency-key": "u1"})
    await leila.post(f"{path}/outcome", json={"status": "succeeded"})
    before = await leila.get(path)

    outside.world.workflow.world.ring = KeyRing({"k2": b"n" * 32}, "k2")
    after, again = await leila.get(path), await asked(leila, "k1", timeout="10m")

    assert (before.status_code, after.status_code, again.status_code) == (200, 200, 200)
    assert after.json()["consumption"] == before.json()["consumption"]


@pytest.mark.parametrize("change", [{"tool": TOKEN}, {TOKEN: 1}], ids=["a_tool", "a_field"])
async def test_a_credential_where_a_name_belongs_is_quoted_nowhere(
    leila: httpx.AsyncClient, outside: Outside, change: dict[str, Any]
) -> None:
    """The call itself was masked, and the words of its denial were not."""
    answer = await asked(leila, "k1", **change)

    assert "‹secret, 40 characters›" in answer.text
    assert TOKEN not in answer.text
