"""AAP: a look at a call is held while nothing is decided, and no longer than was asked."""

from __future__ import annotations

import asyncio

import httpx

from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_together import asks, cancels


async def test_a_call_is_held_no_longer_than_was_asked_however_far_its_deadline(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    call = await asks(leila, "k1", "1h")
    asyncio.get_running_loop().call_later(0.05, outside.world.clock.advance, 1.1)

    answer = await asyncio.wait_for(leila.get(f"/aap/v1/requests/{call['id']}?wait=1s"), 10)

    assert answer.json()["status"] == "pending"


async def test_a_call_that_was_decided_is_not_held(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    call = await asks(leila, "k1", "1h")
    await cancels(leila, call)

    answer = await asyncio.wait_for(leila.get(f"/aap/v1/requests/{call['id']}?wait=60s"), 10)

    assert answer.json()["status"] == "cancelled"
