"""AAP: what was refused for now leaves the key free."""

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
