"""A governed call runs what people saw, and is done once that has been carried out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from bot.client import Signoff, governed
from lifecycle.state import State
from tests.bot.intake.conftest import Outside
from tests.bot.intake.refunding import TARGET, decided

Pays = Callable[[str], None]


@pytest.fixture
async def signoff(outside: Outside) -> AsyncIterator[Signoff]:
    async with Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms) as session:
        yield session


async def a_coroutine(pays: Pays) -> None:
    pays("awaited")


async def an_async_generator(pays: Pays) -> AsyncIterator[None]:
    yield pays("iterated")


def a_generator(pays: Pays) -> Iterator[None]:
    yield pays("iterated")


def a_task(pays: Pays) -> asyncio.Task[None]:
    return asyncio.create_task(a_coroutine(pays))


async def carried_out(work: Any) -> None:
    """Let work act."""
    if hasattr(work, "__await__"):
        await work
    elif hasattr(work, "__aiter__"):
        [None async for _ in work]
    else:
        list(work)


def test_a_partial_is_not_governed_since_nobody_sees_what_it_has_bound() -> None:
    """People approved a currency, and an amount was paid that stood nowhere."""

    async def pay(amount: str, currency: str = "USD") -> None:
        raise AssertionError("must not run")

    with pytest.raises(TypeError, match="async def"):
        governed("issue-refund", justification="A parcel broke")(partial(pay, "9000.00"))


@pytest.mark.parametrize("work", [a_coroutine, an_async_generator, a_generator, a_task])
async def test_what_has_yet_to_act_is_not_reported_as_done(
    signoff: Signoff, outside: Outside, work: Callable[[Pays], Any]
) -> None:
    """It was called done before it had begun."""
    paid: list[str] = []

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str) -> Any:
        """Pay back what the customer is owed for a broken parcel."""
        return work(paid.append)

    left_to_do, proposal_id = await asyncio.gather(
        refund("5.00", "USD"), decided(outside.world, "ana")
    )

    assert (await outside.world.proposal(proposal_id)).state is State.EXECUTING
    await carried_out(left_to_do)
    assert len(paid) == 1
