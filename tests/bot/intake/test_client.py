"""The Python client and governed tools against the real door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from bot.client import (
    NothingDone,
    Signoff,
    SignoffRefused,
    SignoffUnreachable,
    governed,
)
from tests.bot.intake.conftest import PLAIN, Outside
from tests.builders import PROD, REFUND, a_document
from tests.world import World

TARGET = {"resource_type": "payment", "resource_id": "order-17", "domain": "shop.example"}


@pytest.fixture
async def signoff(outside: Outside):
    async with Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms) as session:
        yield session


async def decided(world: World, person: str, *, approve: bool = True) -> str:
    """Wait until one proposal waits for people, then decide it."""
    while True:
        waiting = await world.store.read(lambda tx: tx.proposals.waiting(0, 1))
        if waiting and waiting[0].verdict is not None:
            break
        await asyncio.sleep(0.01)
    await world.shows()
    proposal_id = waiting[0].proposal_id
    decide = world.approves if approve else world.rejects
    await decide(person, proposal_id, "seen")
    return proposal_id


def a_refund(signoff: Signoff, **options: Any):
    calls: list[tuple[str, str]] = []

    @governed("issue-refund", signoff=signoff, target=TARGET, **options)
    async def refund(amount: str, currency: str = "USD") -> dict[str, str]:
        """Pay back what the customer is owed for a broken parcel."""
        calls.append((amount, currency))
        return {"refund": "r-1"}

    return refund, calls


async def test_a_governed_call_runs_after_people_signed_off(signoff, outside) -> None:
    refund, calls = a_refund(signoff)

    result, proposal_id = await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))

    assert (result, calls) == ({"refund": "r-1"}, [("12.00", "USD")])
    ended = await outside.world.proposal(proposal_id)
    assert (ended.state.value, ended.execution.receipt) == ("completed", {"refund": "r-1"})


async def test_a_governed_call_does_not_run_where_people_say_no(signoff, outside) -> None:
    refund, calls = a_refund(signoff)
    with pytest.raises(SignoffRefused) as caught:
        await asyncio.gather(refund("12.00"), decided(outside.world, "ben", approve=False))
    assert (caught.value.reason, caught.value.explanation) == ("rejected_by_person", "seen")
    assert calls == []


async def test_what_sentinel_refuses_is_never_run(signoff) -> None:
    refund, calls = a_refund(signoff)
    with pytest.raises(SignoffRefused) as caught:
        await refund("99999.00")
    assert caught.value.reason == "amount_within_limit"
    assert calls == []


async def test_a_function_that_did_nothing_says_so(signoff, outside) -> None:
    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str) -> None:
        """Pay back what the customer is owed."""
        raise NothingDone("the bank is closed")

    async def tried() -> None:
        with pytest.raises(NothingDone):
            await refund("12.00", "USD")

    _, proposal_id = await asyncio.gather(tried(), decided(outside.world, "ana"))
    ended = await outside.world.proposal(proposal_id)
    assert (ended.state.value, ended.reason) == ("rolled_back", "tool_failed")


@pytest.mark.parametrize("tool", ["production-deploy", "nothing"])
async def test_only_tools_of_kind_agent_are_governed(signoff, outside, tool: str) -> None:
    @governed(tool, signoff=signoff)
    async def act() -> None:
        raise AssertionError("must not run")

    with pytest.raises(TypeError, match="kind"):
        await act()
    assert await outside.world.audit("submitted") == []


async def test_an_agent_that_cannot_wait_is_told(signoff) -> None:
    answer = await signoff.propose(a_document(PROD))
    with pytest.raises(TimeoutError, match="sentinel_approved"):
        await signoff.wait(answer["proposal_id"], timeout_s=1)


async def test_the_client_says_why_it_was_refused(signoff) -> None:
    with pytest.raises(SignoffRefused) as caught:
        await signoff.propose(a_document(REFUND, tool="refund"))
    assert (caught.value.reason, caught.value.retry) == ("unknown_tool", "after_change")
    assert caught.value.answer["errors"][0]["path"] == "tool"


async def test_a_bot_that_is_not_there_is_a_sentence() -> None:
    async with Signoff("http://127.0.0.1:9", "x") as session:
        with pytest.raises(SignoffUnreachable, match="Is the bot running"):
            await session.tools()


@pytest.mark.parametrize("made", [float("nan"), object()])
async def test_a_result_that_is_no_receipt_is_done_all_the_same(signoff, outside, made) -> None:
    refund, _ = a_refund(signoff, receipt=lambda _: {"at": made})

    result, proposal_id = await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))

    ended = await outside.world.proposal(proposal_id)
    assert result == {"refund": "r-1"}
    assert ended.state.value == "completed"
    assert "receipt_left_out" in ended.execution.receipt


@pytest.mark.parametrize("failures", [1, 9])
async def test_what_was_done_is_returned_although_nobody_can_be_told(
    signoff, outside, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    monkeypatch.setattr("bot.telling._AGAIN_S", (0.0, 0.0))
    real, left = signoff.report, [None] * failures

    async def report(*told: Any) -> Any:
        if left:
            left.pop()
            raise SignoffUnreachable("no answer")
        return await real(*told)

    monkeypatch.setattr(signoff, "report", report)
    refund, calls = a_refund(signoff)

    result, proposal_id = await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))

    assert (result, len(calls)) == ({"refund": "r-1"}, 1)
    ended = await outside.world.proposal(proposal_id)
    assert ended.state.value == ("completed" if failures == 1 else "executing")


class Way(httpx.AsyncBaseTransport):
    """The way to the door. `troubles` say by a path's end what befalls it, one after another."""

    def __init__(self, **troubles: list[str]) -> None:
        self._real = httpx.AsyncHTTPTransport(verify=PLAIN)
        self.troubles = troubles
        self.asked: list[str] = []
        self.sent: dict[str, bytes] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        place = request.url.path.rpartition("/")[2]
        self.asked.append(place)
        self.sent[place] = await request.aread()
        left = self.troubles.get(place if place in self.troubles else "other", [])
        trouble = left.pop(0) if left else None
        if trouble == "no way":
            raise httpx.ConnectError("no way")
        if trouble == "later":
            told = {"reason": "audit_unavailable", "retry": "later", "retry_after_s": 0.2}
            return httpx.Response(503, json=told)
        answer = await self._real.handle_async_request(request)
        if trouble == "lost":
            await answer.aclose()
            raise httpx.ReadTimeout("lost")
        return answer

    async def aclose(self) -> None:
        await self._real.aclose()


@asynccontextmanager
async def on_the_way(outside: Outside, way: Way) -> AsyncIterator[Signoff]:
    now_ms = outside.world.clock.now_ms
    async with Signoff(outside.url, "leila-token", transport=way, now_ms=now_ms) as session:
        yield session


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.telling._AGAIN_S", (0.05, 0.05))


@pytest.mark.parametrize("trouble", ["no way", "later", "lost"])
@pytest.mark.usefixtures("soon")
async def test_an_outcome_is_told_again_until_it_is_taken(outside: Outside, trouble: str) -> None:
    way = Way(receipt=[trouble])
    async with on_the_way(outside, way) as signoff:
        refund, _ = a_refund(signoff)
        _, proposal_id = await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))
    assert way.asked.count("receipt") == 2
    assert (await outside.world.proposal(proposal_id)).state.value == "completed"


@pytest.mark.usefixtures("soon")
async def test_people_may_decide_while_the_bot_is_not_heard(outside: Outside) -> None:
    way = Way(other=["no way", "later", "lost", "no way"])
    for place in ("tools", "whoami", "proposals"):
        way.troubles[place] = []
    async with on_the_way(outside, way) as signoff:
        refund, calls = a_refund(signoff)
        _, proposal_id = await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))
    assert calls == [("12.00", "USD")]
    assert (await outside.world.proposal(proposal_id)).state.value == "completed"


@pytest.mark.usefixtures("soon")
async def test_waiting_for_a_bot_that_is_not_heard_ends_with_its_time(outside: Outside) -> None:
    way = Way(other=["no way"] * 1000, tools=[], whoami=[], proposals=[])
    async with on_the_way(outside, way) as signoff:
        refund, calls = a_refund(signoff, timeout_s=0.3)
        async with asyncio.timeout(5):
            with pytest.raises(SignoffUnreachable):
                await refund("12.00")
    assert calls == []


@pytest.mark.usefixtures("soon")
async def test_a_redemption_whose_answer_is_lost_runs_nothing_and_claims_nothing(
    outside: Outside,
) -> None:
    """Another process with the same call may have redeemed it: `failed` could be untrue."""
    way = Way(redeem=["lost"])
    async with on_the_way(outside, way) as signoff:
        refund, calls = a_refund(signoff)

        async def tried() -> None:
            with pytest.raises(SignoffUnreachable):
                await refund("12.00")

        _, proposal_id = await asyncio.gather(tried(), decided(outside.world, "ana"))
    assert calls == []
    assert "receipt" not in way.asked
    assert (await outside.world.proposal(proposal_id)).state.value == "executing"


@pytest.mark.usefixtures("soon")
async def test_a_redemption_that_never_arrived_leaves_its_permit_for_the_next_call(
    outside: Outside,
) -> None:
    async with on_the_way(outside, Way(redeem=["no way"])) as signoff:
        refund, calls = a_refund(signoff)

        async def tried() -> None:
            with pytest.raises(SignoffUnreachable):
                await refund("12.00")

        _, proposal_id = await asyncio.gather(tried(), decided(outside.world, "ana"))
        assert await refund("12.00") == {"refund": "r-1"}
    assert calls == [("12.00", "USD")]
    assert (await outside.world.proposal(proposal_id)).state.value == "completed"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (float("nan"), "non_finite_number"),
        (float("-inf"), "non_finite_number"),
        ("\ud800", "invalid_unicode"),
        (b"bytes", "wrong_type"),
        ({1, 2}, "wrong_type"),
        (datetime(2026, 3, 2, tzinfo=UTC), "wrong_type"),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_not_called_a_bot_that_is_away(
    signoff: Signoff, value: Any, code: str
) -> None:
    for asked in (
        signoff.propose(a_document(REFUND, parameters={"amount": value})),
        signoff.check({"a": [value]}),
        signoff.redeem("p1", "permit", {"amount": value}),
        signoff.report("p1", "done", {"at": value}),
    ):
        with pytest.raises(SignoffRefused) as caught:
            await asked
        assert (caught.value.reason, caught.value.retry) == (code, "after_change")


async def test_circles_and_depths_are_refused_as_well(signoff: Signoff) -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for document, code in ((circle, "wrong_type"), (deep, "too_deep")):
        with pytest.raises(SignoffRefused) as caught:
            await signoff.propose(document)
        assert caught.value.reason == code
    while deep:  # taken apart from outside: a hundred thousand at once are too many for Python
        deep = deep["a"]


@pytest.mark.parametrize("proposal_id", ["p1/explain", "../tools", "p1?wait=1", "", "p" * 65, "é"])
async def test_an_id_reaches_no_other_operation(signoff: Signoff, proposal_id: str) -> None:
    await signoff.propose(a_document(PROD))
    for asked in (
        signoff.proposal(proposal_id),
        signoff.withdraw(proposal_id),
        signoff.redeem(proposal_id, "x", {}),
        signoff.report(proposal_id, "done"),
    ):
        with pytest.raises(SignoffRefused) as caught:
            await asked
        assert (caught.value.reason, caught.value.retry) == ("invalid_identifier", "after_change")


async def test_an_answer_without_a_code_is_not_taken_for_one(outside: Outside) -> None:
    async with Signoff(f"{outside.url}/elsewhere", "leila-token") as session:
        with pytest.raises(SignoffUnreachable, match="404"):
            await session.tools()
