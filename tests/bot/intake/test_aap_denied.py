"""AAP: what is denied at once, or is no submission, is kept in bounds and told."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lifecycle.state import State
from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_keys import CALL, asked

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


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


@pytest.mark.parametrize("change", [{"tool": TOKEN}, {TOKEN: 1}], ids=["a_tool", "a_field"])
async def test_a_credential_where_a_name_belongs_is_quoted_nowhere(
    leila: httpx.AsyncClient, outside: Outside, change: dict[str, Any]
) -> None:
    """The call itself was masked, and the words of its denial were not."""
    answer = await asked(leila, "k1", **change)

    assert "‹secret, 40 characters›" in answer.text
    assert TOKEN not in answer.text
