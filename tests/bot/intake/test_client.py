"""The Python client and governed tools against the real door."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.client import (
    NothingDone,
    Signoff,
    SignoffRefused,
    SignoffUnreachable,
    governed,
)
from bot.client.errors import address
from tests.bot.intake.conftest import Outside
from tests.bot.intake.refunding import TARGET, a_refund, decided
from tests.builders import PROD, REFUND, a_document


@pytest.fixture
async def signoff(outside: Outside):
    async with Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms) as session:
        yield session


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


@pytest.mark.parametrize("timeout_s", [0, 0.3, 1])
async def test_an_agent_that_cannot_wait_is_told_once_its_time_is_over(
    signoff, timeout_s: float
) -> None:
    answer = await signoff.propose(a_document(PROD))
    begun_s = time.monotonic()
    with pytest.raises(TimeoutError, match="sentinel_approved"):
        await signoff.wait(answer["proposal_id"], timeout_s=timeout_s)
    assert time.monotonic() - begun_s >= timeout_s


async def test_the_client_says_why_it_was_refused(signoff) -> None:
    with pytest.raises(SignoffRefused) as caught:
        await signoff.propose(a_document(REFUND, tool="refund"))
    assert (caught.value.reason, caught.value.retry) == ("unknown_tool", "after_change")
    assert caught.value.answer["errors"][0]["path"] == "tool"


async def test_a_bot_that_is_not_there_is_a_sentence() -> None:
    async with Signoff("http://127.0.0.1:9", "x") as session:
        with pytest.raises(SignoffUnreachable, match="Is the bot running"):
            await session.tools()


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:8080", "localhost", "ftp://127.0.0.1", "http://", "http://[bad", "http://h:x"),
        *("http://h\x00", "http://h\ni", "http://h\u200b.example", "http://" + "h" * 70_000),
        *("http://h/?", "http://h?door=1", "http://h/#top"),
    ],
)
def test_an_address_that_is_none_is_not_called_a_bot_that_is_away(url: str) -> None:
    with pytest.raises(SignoffUnreachable, match=r"write one like http://127\.0\.0\.1:8080"):
        Signoff(url, "x")


@pytest.mark.parametrize(
    "url",
    [
        *("http://ops:hunter2@127.0.0.1:9", "htps://ops:hunter2@127.0.0.1", "ops:hunter2@host:80"),
        *("http://ops:hunter2@host:x", "http://ops:hunter2@[::1"),
    ],
)
def test_a_password_in_an_address_is_neither_sent_in_place_of_the_token_nor_told(url: str) -> None:
    with pytest.raises(SignoffUnreachable, match="no user and password") as caught:
        Signoff(url, "x")
    assert "hunter2" not in str(caught.value)


def test_an_at_sign_in_the_path_of_an_address_is_no_password() -> None:
    assert address("http://127.0.0.1:9/@bots/") == "http://127.0.0.1:9/@bots"


@pytest.mark.parametrize("token", ["t\u00f6ken-of-leila", "a\nb", "\udce4"])
def test_a_token_that_no_header_holds_is_a_sentence(monkeypatch, token: str) -> None:
    monkeypatch.setenv("SIGNOFF_TOKEN", token)
    with pytest.raises(SignoffUnreachable, match="one line of ASCII"):
        Signoff("http://127.0.0.1:9")


async def test_white_space_around_an_address_or_a_token_is_none_of_it(outside: Outside) -> None:
    async with Signoff(f" {outside.url}/\r\n", " leila-token\n") as session:
        assert await session.whoami() == "leila"


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
    monkeypatch.setattr("bot.client.telling._AGAIN_S", (0.0, 0.0))
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
