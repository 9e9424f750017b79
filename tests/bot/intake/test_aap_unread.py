"""Somebody writes over what AAP keeps of a call: that call never begins, and others go on."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lifecycle.state import State
from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_together import asks, cancels, seen

NO_JSON_OF_OURS = [5, "x", [1], {"a": 1}, {"agent": "leila"}]
#: Fields of a call with what none has there.
NO_VALUES: dict[str, Any] = {
    "id": "another",
    "agent": 5,
    "submission": {},
    "created_at_ms": 2**63,
    "deadline_ms": "noon",
    "proposal_id": {},
    "refused": [],
    "outcome": "done",
    "cancelled_at_ms": -1,
}


async def writes(outside: Outside, flag: str, value: Any) -> None:
    await outside.world.store.write(lambda tx: tx.flags.put(flag, value))


async def kept(outside: Outside, flag: str) -> Any:
    return await outside.world.store.read(lambda tx: tx.flags.get(flag))


async def refuses(leila: httpx.AsyncClient, call: dict[str, Any]) -> None:
    """Whatever is asked of this call, it is none; and its key stands for no other."""
    one, headers = f"/aap/v1/requests/{call['id']}", {"idempotency-key": "u"}
    answers = [
        await leila.get(one),
        await leila.delete(one),
        await leila.post(f"{one}/consume", headers=headers),
        await leila.post(f"{one}/outcome", json={"status": "succeeded"}),
    ]
    assert [(each.status_code, each.json()["error"]["code"]) for each in answers] == [
        (404, "not_found")
    ] * 4
    sent = {name: call[name] for name in ("tool", "arguments", "timeout")}
    again = await leila.post(
        "/aap/v1/requests", json=sent, headers={"idempotency-key": call["key"]}
    )
    assert (again.status_code, again.json()["error"]["code"]) == (409, "idempotency_conflict")


async def approved(outside: Outside, leila: httpx.AsyncClient, key: str) -> dict[str, Any]:
    call = await asks(leila, key, "10m", arguments={"amount": f"{key}.00", "currency": "USD"})
    await outside.world.shows()
    await outside.world.approves("ana", call["id"])
    assert (await seen(leila, call))["status"] == "approved"
    return call | {"key": key}


@pytest.mark.parametrize("value", NO_JSON_OF_OURS, ids=str)
async def test_what_is_no_call_never_begins(
    outside: Outside, leila: httpx.AsyncClient, value: Any
) -> None:
    call = await approved(outside, leila, "1")
    await writes(outside, f"aap:{call['id']}", value)

    await refuses(leila, call)

    assert (await seen(leila, await approved(outside, leila, "2")))["status"] == "approved"


@pytest.mark.parametrize(
    ("name", "value"),
    [*NO_VALUES.items(), ("submission", {"tool": "issue-refund", "arguments": 5})],
)
async def test_a_call_with_a_value_that_none_has_never_begins(
    outside: Outside, leila: httpx.AsyncClient, name: str, value: Any
) -> None:
    call = await approved(outside, leila, "1")
    flag = f"aap:{call['id']}"
    await writes(outside, flag, await kept(outside, flag) | {name: value})

    await refuses(leila, call)

    assert (await outside.world.proposal(call["id"])).state is State.SENTINEL_APPROVED


@pytest.mark.parametrize(
    "value", [*NO_JSON_OF_OURS, {"ids": 5, "next": 1}, {"ids": ["x"], "next": "y"}], ids=str
)
async def test_a_list_of_denied_calls_that_is_none_keeps_its_agent_from_no_call(
    outside: Outside, leila: httpx.AsyncClient, value: Any
) -> None:
    """That agent was answered 500 to every new call, for ever."""
    await asks(leila, "k1", "10m", tool="nothing")
    await writes(outside, "aap-denied:leila", value)

    denied = await asks(leila, "k2", "10m", tool="nothing")

    assert (await seen(leila, denied))["status"] == "denied"
    assert (await seen(leila, await asks(leila, "k3", "10m")))["status"] == "pending"


async def test_a_denied_call_that_is_none_is_forgotten(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    await asks(leila, "k1", "10m", tool="nothing")
    await writes(outside, "aap-denied:leila:0", 5)

    again = await asks(leila, "k1", "10m", tool="nothing")

    assert (await seen(leila, again))["status"] == "denied"


@pytest.mark.parametrize(
    "value",
    [*NO_JSON_OF_OURS, {"calls": 5}, {"calls": {"x": "noon"}, "more_until_ms": 0}],
    ids=str,
)
async def test_a_call_takes_no_proposal_back_where_nobody_knows_who_waits_for_it(
    outside: Outside, leila: httpx.AsyncClient, value: Any
) -> None:
    first, second = await asks(leila, "k1", "10m"), await asks(leila, "k2", "10m")
    await writes(outside, f"aap-calls:{first['id']}", value)
    third = await asks(leila, "k3", "10m")

    assert [await cancels(leila, each) for each in (first, third)] == ["cancelled"] * 2

    assert (await seen(leila, second))["status"] == "pending"
    assert (await outside.world.proposal(first["id"])).state is State.SENTINEL_APPROVED


async def test_a_call_is_cancelled_beside_a_first_one_that_cannot_be_read(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    first, second = await asks(leila, "k1", "10m"), await asks(leila, "k2", "10m")
    await writes(outside, f"aap:{first['id']}", 5)

    assert await cancels(leila, second) == "cancelled"

    assert (await outside.world.proposal(first["id"])).state is State.SENTINEL_APPROVED


async def test_a_later_call_takes_nothing_back_of_which_it_cannot_be_read_who_asked_first(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    """An older version noted nothing beside the first call."""
    first = await asks(leila, "k1", "10m")
    call = await kept(outside, f"aap:{first['id']}")
    await writes(outside, f"aap-calls:{first['id']}", None)
    await writes(outside, f"aap:{first['id']}", 5)
    second = await asks(leila, "k2", "10m")
    await writes(outside, f"aap:{first['id']}", call)

    assert await cancels(leila, second) == "cancelled"

    assert (await outside.world.proposal(first["id"])).state is State.SENTINEL_APPROVED


@pytest.mark.parametrize("value", NO_JSON_OF_OURS, ids=str)
async def test_nobody_used_up_what_a_note_that_is_none_says(
    outside: Outside, leila: httpx.AsyncClient, value: Any
) -> None:
    call = await approved(outside, leila, "1")
    one = f"/aap/v1/requests/{call['id']}"
    used = await leila.post(f"{one}/consume", headers={"idempotency-key": "u"})
    assert used.status_code == 200
    await writes(outside, f"aap-use:{call['id']}", value)

    told = await leila.post(f"{one}/outcome", json={"status": "succeeded"})

    assert (told.status_code, told.json()["error"]["code"]) == (409, "not_consumed")
