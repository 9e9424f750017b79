"""A governed call is the one that people saw, whatever its caller does meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, defaultdict, namedtuple
from enum import StrEnum
from typing import Any

import pytest

from bot.client import NothingDone, Signoff, SignoffRefused, governed
from tests.bot.intake.conftest import Outside
from tests.bot.intake.refunding import TARGET, a_refund, decided


@pytest.fixture
async def signoff(outside: Outside):
    async with Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms) as session:
        yield session


async def test_what_runs_is_what_was_approved(
    signoff: Signoff, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str, lines: list[str], **more: Any) -> dict[str, Any]:
        """Pay back what the customer is owed for a broken parcel."""
        ran.append((list(lines), more))
        return {}

    lines, notes = ["order-17"], {"to": ["pat"]}
    redeem = signoff.redeem

    async def redeemed(*given: Any) -> dict[str, Any]:
        answer = await redeem(*given)
        lines.append("order-18")
        notes["to"].append("mallory")
        return answer

    monkeypatch.setattr(signoff, "redeem", redeemed)
    _, proposal_id = await asyncio.gather(
        refund("5.00", "USD", lines, notes=notes), decided(outside.world, "ana")
    )

    approved = (await outside.world.proposal(proposal_id)).read().parameters
    assert ran == [(["order-17"], {"notes": {"to": ["pat"]}})]
    assert (approved or {})["lines"] == ["order-17"]


async def test_what_changes_while_people_look_is_not_redeemed(
    signoff: Signoff, outside: Outside
) -> None:
    ran: list[list[str]] = []

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str, lines: list[str]) -> None:
        """Pay back what the customer is owed for a broken parcel."""
        ran.append(list(lines))

    lines = ["order-17"]

    async def meanwhile() -> str:
        while not await outside.world.audit("submitted"):  # noqa: ASYNC110 - asks the real store
            await asyncio.sleep(0.01)
        lines.append("order-18")
        return await decided(outside.world, "ana")

    await asyncio.gather(refund("5.00", "USD", lines), meanwhile())

    assert ran == [["order-17"]]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"id": 2**60}, "out_of_range"),
        ({"rows": "y" * 300_000}, "too_large"),
        ({"name": "\ud800"}, "invalid_unicode"),
        ({1: "a", "1": "b"}, "duplicate_key"),
    ],
)
async def test_what_was_done_is_told_although_signoff_cannot_read_its_receipt(
    signoff: Signoff, outside: Outside, result: dict[Any, Any], why: str
) -> None:
    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str) -> dict[Any, Any]:
        """Pay back what the customer is owed for a broken parcel."""
        return result

    returned, proposal_id = await asyncio.gather(
        refund("5.00", "USD"), decided(outside.world, "ana")
    )

    ended = await outside.world.proposal(proposal_id)
    assert returned == result
    assert ended.state.value == "completed"
    assert ended.execution is not None
    assert ended.execution.receipt == {"receipt_left_out": why}


@pytest.mark.parametrize("made", [None, "r-1", 7, ["r-1", "r-2"]])
async def test_what_was_done_is_told_although_its_receipt_is_no_object(
    signoff: Signoff, outside: Outside, made: Any
) -> None:
    refund, calls = a_refund(signoff, receipt=lambda _result: made)

    returned, proposal_id = await asyncio.gather(refund("5.00"), decided(outside.world, "ana"))

    ended = await outside.world.proposal(proposal_id)
    assert (returned, len(calls)) == ({"refund": "r-1"}, 1)
    assert (ended.state.value, ended.execution is not None) == ("completed", True)
    assert set((ended.execution.receipt if ended.execution else None) or {}) == {"receipt_left_out"}


async def test_a_call_within_a_call_speaks_of_itself_alone(
    signoff: Signoff, outside: Outside
) -> None:
    sent: list[str] = []

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def inner(amount: str, currency: str) -> None:
        """Pay back the second part of what the customer is owed."""
        raise NothingDone("the bank is closed")

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def outer(amount: str, currency: str) -> None:
        """Pay back what the customer is owed in two parts."""
        sent.append(amount)
        await inner("2.00", currency)

    async def people() -> tuple[str, str]:
        first = await decided(outside.world, "ana")
        while (await outside.world.proposal(first)).state.value != "executing":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return first, await decided(outside.world, "ana")

    failed, ids = await asyncio.gather(outer("1.00", "USD"), people(), return_exceptions=True)

    assert isinstance(failed, NothingDone)
    assert isinstance(ids, tuple)
    first, second = [await outside.world.proposal(each) for each in ids]
    assert sent == ["1.00"]
    assert (first.state.value, second.state.value) == ("executing", "rolled_back")


async def test_an_argument_that_cannot_be_copied_is_refused_before_it_is_proposed(
    signoff: Signoff, outside: Outside
) -> None:
    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str, lock: Any) -> None:
        raise AssertionError("must not run")

    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for given, code in ((asyncio.current_task(), "wrong_type"), (deep, "too_deep")):
        with pytest.raises(SignoffRefused) as caught:
            await refund("5.00", "USD", given)
        assert caught.value.reason == code
    assert await outside.world.audit("submitted") == []


class Live(dict[str, Any]):
    """A dict that everybody shares, however it is copied."""

    def __deepcopy__(self, _memo: object) -> Live:
        return self


@pytest.mark.parametrize(
    "given", [defaultdict(lambda: "mallory", to="pat"), Live(to="pat"), [Counter("pat")]]
)
async def test_an_argument_that_holds_more_than_people_see_is_refused_before_it_is_proposed(
    signoff: Signoff, outside: Outside, given: Any
) -> None:
    @governed("issue-refund", signoff=signoff, target=TARGET, timeout_s=0.1)
    async def refund(amount: str, currency: str, notes: Any) -> None:
        raise AssertionError("must not run")

    with pytest.raises(SignoffRefused) as caught:
        await refund("5.00", "USD", given)
    assert caught.value.reason == "wrong_type"
    assert await outside.world.audit("submitted") == []


class Amount(float):
    """A number that reads otherwise than it is."""

    def __str__(self) -> str:
        return "9000.0"


class Currency(StrEnum):
    USD = "USD"


Line = namedtuple("Line", "order rows")


async def test_a_value_of_a_class_of_its_own_is_the_value_that_people_see(
    signoff: Signoff, outside: Outside
) -> None:
    ran: list[str] = []

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: Currency, line: Any, fee: float, more: Any) -> None:
        """Pay back what the customer is owed for a broken parcel."""
        ran.append(f"{amount} {currency.name} {line.order} {fee} {more['first']}")

    await asyncio.gather(
        refund("5.00", Currency.USD, Line("o-17", (1, 2)), Amount(1.5), OrderedDict(first=1)),
        decided(outside.world, "ana"),
    )

    assert ran == ["5.00 USD o-17 1.5 1"]


def test_a_function_that_would_act_before_it_is_awaited_is_not_governed() -> None:
    done: list[str] = []

    def pay(amount: str) -> dict[str, str]:
        done.append(amount)
        return {}

    with pytest.raises(TypeError, match="async def"):
        governed("issue-refund")(pay)  # type: ignore[arg-type]
    assert done == []


async def test_a_permit_of_what_has_ended_hides_no_reason(
    signoff: Signoff, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str) -> None:
        """Pay back what the customer is owed for a broken parcel."""
        raise AssertionError("must not run")

    wait = signoff.wait

    async def too_late(proposal_id: str, **options: Any) -> dict[str, Any]:
        await wait(proposal_id, **options)
        await outside.world.rejects("ben", proposal_id, "paid already")
        return await wait(proposal_id, **options)

    monkeypatch.setattr(signoff, "wait", too_late)
    with pytest.raises(SignoffRefused) as caught:
        await asyncio.gather(refund("5.00", "USD"), decided(outside.world, "ana"))

    assert (caught.value.reason, caught.value.explanation) == (
        "rejected_by_person",
        "paid already",
    )


async def test_an_answer_that_is_not_held_is_not_asked_for_in_a_loop(
    signoff: Signoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def at_once(_proposal_id: str, *, wait_s: int = 0) -> dict[str, Any]:
        asked.append(wait_s)
        return {"state": "sentinel_approved", "permit": None}

    monkeypatch.setattr(signoff, "proposal", at_once)
    with pytest.raises(TimeoutError):
        await signoff.wait("p1", timeout_s=2)

    assert len(asked) < 10  # every half second, not thousands of times
