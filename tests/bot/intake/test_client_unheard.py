"""The Python client while nothing is heard of the bot: nothing is done twice, no lie told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from bot.client import (
    Signoff,
    SignoffUnreachable,
)
from tests.bot.intake.conftest import PLAIN, Outside
from tests.bot.intake.refunding import a_refund, decided
from tests.builders import PROD, a_document


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
    monkeypatch.setattr("bot.client.telling._AGAIN_S", (0.05, 0.05))


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


ACTS = {
    "propose": lambda signoff: signoff.propose(a_document(PROD)),
    "redeem": lambda signoff: signoff.redeem("p1", "permit", {}),
    "report": lambda signoff: signoff.report("p1", "done"),
    "withdraw": lambda signoff: signoff.withdraw("p1"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("how", [httpx.ReadTimeout, httpx.RemoteProtocolError, 502])
async def test_whoever_cannot_know_what_became_of_an_act_is_told_to_look(
    act: str, how: type[Exception] | int
) -> None:
    async with Signoff("http://x", "t", transport=failing(how)) as signoff:
        with pytest.raises(SignoffUnreachable, match="look what became of") as caught:
            await ACTS[act](signoff)

    assert caught.value.maybe_done
    assert "cannot be reached" not in str(caught.value)


#: Objects in the bot's place; the last ones are what gateways say that waited for it in vain.
FOREIGN: list[tuple[int, dict[str, Any]]] = [
    (200, {}),
    (202, {"state": "executing", "detail": "accepted"}),
    (200, {"proposal_id": ["p1"], "state": ["completed"]}),
    (504, {"status": 504, "error": "Gateway Timeout"}),
    (502, {"reason": "upstream failed", "error": "Bad Gateway"}),
]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(("status", "said"), FOREIGN)
async def test_whoever_answers_an_act_in_the_bots_place_does_not_say_what_became_of_it(
    act: str, status: int, said: dict[str, Any]
) -> None:
    way = httpx.MockTransport(lambda _request: httpx.Response(status, json=said))
    async with Signoff("http://x", "t", transport=way) as signoff:
        with pytest.raises(SignoffUnreachable, match="look what became of") as caught:
            await ACTS[act](signoff)

    assert caught.value.maybe_done


@pytest.mark.parametrize("how", [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout])
async def test_an_act_of_which_the_bot_has_heard_nothing_is_told_as_that(
    how: type[Exception],
) -> None:
    async with Signoff("http://x", "t", transport=failing(how)) as signoff:
        for act in ACTS.values():
            with pytest.raises(SignoffUnreachable, match="cannot be reached") as caught:
                await act(signoff)
            assert not caught.value.maybe_done


async def test_a_look_or_a_check_whose_answer_is_lost_has_done_nothing() -> None:
    async with Signoff("http://x", "t", transport=failing(httpx.ReadTimeout)) as signoff:
        for look in (signoff.proposal("p1"), signoff.tools(), signoff.check(a_document(PROD))):
            with pytest.raises(SignoffUnreachable) as caught:
                await look
            assert not caught.value.maybe_done


def failing(how: type[Exception] | int) -> httpx.AsyncBaseTransport:
    """Return a way on which every call fails like that, or gets this status from a proxy."""

    def fails(_request: httpx.Request) -> httpx.Response:
        if isinstance(how, int):
            return httpx.Response(how, json={"detail": "no answer from behind"})
        raise how("on the way")

    return httpx.MockTransport(fails)
