"""The Python client and governed tools against the real door."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.client import NothingDone, Signoff, SignoffRefused, SignoffUnreachable, governed
from tests.bot.intake.conftest import Outside
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
    monkeypatch.setattr("bot.telling._TOLD_AGAIN_S", (0.0, 0.0))
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
