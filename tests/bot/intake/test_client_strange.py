"""The Python client and answers that Signoff never gives: nothing runs on the word of a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from bot.client import Signoff, SignoffUnreachable, governed
from tests.bot.intake.conftest import Outside
from tests.bot.intake.refunding import TARGET, a_refund, decided
from tests.bot.intake.test_client_unheard import Way, on_the_way

ANOTHER = {"proposal_id": "another", "state": "executing"}


class Proxy(Way):
    """Somebody on the way who answers in the bot's place at paths with this end."""

    def __init__(self, place: str, said: Mapping[str, Any], status: int = 200) -> None:
        super().__init__()
        self._place, self._said, self._status = place, said, status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        place = request.url.path.rpartition("/")[2]
        if place != self._place:
            return await super().handle_async_request(request)
        self.asked.append(place)
        return httpx.Response(self._status, json=dict(self._said))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, {}),
        (202, {"detail": "accepted"}),
        (200, {"error": "please log in"}),
        (200, {"state": "executing"}),
        (200, ANOTHER),
    ],
)
async def test_nothing_begins_on_an_answer_that_does_not_say_that_this_call_began(
    outside: Outside, status: int, said: Mapping[str, Any]
) -> None:
    async with on_the_way(outside, Proxy("redeem", said, status)) as signoff:
        refund, calls = a_refund(signoff)

        async def tried() -> None:
            with pytest.raises(SignoffUnreachable, match="never gives"):
                await refund("12.00")

        _, proposal_id = await asyncio.gather(tried(), decided(outside.world, "ana"))
    assert calls == []
    assert (await outside.world.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_nothing_begins_that_does_not_stand_as_begun(outside: Outside) -> None:
    said = {"proposal_id": "p1", "state": "sentinel_approved"}
    async with on_the_way(outside, Proxy("redeem", said)) as signoff:
        with pytest.raises(SignoffUnreachable):
            await signoff.redeem("p1", "permit", {})


@pytest.mark.parametrize("said", [{"detail": "please log in"}, {"proposal_id": ["p1"]}])
@pytest.mark.parametrize("place", ["proposals", "tools", "whoami"])
async def test_a_call_that_cannot_be_proposed_says_that_nobody_was_reached(
    outside: Outside, place: str, said: Mapping[str, Any]
) -> None:
    async with on_the_way(outside, Proxy(place, said)) as signoff:
        refund, calls = a_refund(signoff)
        with pytest.raises(SignoffUnreachable):
            await refund("12.00")
    assert calls == []


async def test_an_outcome_counts_as_told_only_if_signoff_has_taken_it(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.client.telling._AGAIN_S", (0.01,))
    way = Proxy("receipt", {})
    async with on_the_way(outside, way) as signoff:
        refund, _ = a_refund(signoff)
        await asyncio.gather(refund("12.00"), decided(outside.world, "ana"))
    assert way.asked.count("receipt") == 2


async def test_what_was_done_is_returned_although_its_session_was_closed_meanwhile(
    outside: Outside,
) -> None:
    signoff = Signoff(outside.url, "leila-token", now_ms=outside.world.clock.now_ms)

    @governed("issue-refund", signoff=signoff, target=TARGET)
    async def refund(amount: str, currency: str) -> dict[str, str]:
        """Pay back what the customer is owed for a broken parcel."""
        await signoff.__aexit__(None, None, None)
        return {"refund": "r-1"}

    returned, proposal_id = await asyncio.gather(
        refund("5.00", "USD"), decided(outside.world, "ana")
    )

    assert returned == {"refund": "r-1"}
    assert (await outside.world.proposal(proposal_id)).state.value == "executing"


STRANGE = [
    b"[" * 100_000 + b"]" * 100_000,
    b'{"proposal_id": "p1", "state": ["completed"]}',
    b'{"proposal_id": ["p1"], "state": "completed"}',
    b'{"tools": [1], "id": 1}',
    b'{"tools": [{"name": "issue-refund"}]}',
]


@pytest.mark.parametrize("said", [b"[]", b"null", b"no JSON", b"{}"])
async def test_after_an_answer_that_says_nothing_of_an_act_it_may_have_been_done(
    said: bytes,
) -> None:
    way = httpx.MockTransport(lambda _request: httpx.Response(200, content=said))
    async with Signoff("http://x", "t", transport=way) as signoff:
        acts = [signoff.propose({}), signoff.withdraw("p1"), signoff.redeem("p1", "permit", {})]
        for act in acts:
            with pytest.raises(SignoffUnreachable) as caught:
                await act
            assert caught.value.maybe_done
        with pytest.raises(SignoffUnreachable) as caught:
            await signoff.proposal("p1")
        assert not caught.value.maybe_done


@pytest.mark.parametrize("said", STRANGE)
async def test_an_answer_that_signoff_never_gives_is_told_as_that(said: bytes) -> None:
    way = httpx.MockTransport(lambda _request: httpx.Response(200, content=said))
    async with Signoff("http://x", "t", transport=way) as signoff:
        looks = [signoff.tools(), signoff.whoami(), signoff.question("q1")]
        looks += [signoff.wait("p1", timeout_s=1), signoff.proposal("p1"), signoff.withdraw("p1")]
        for look in looks:
            with pytest.raises(SignoffUnreachable):
                await look
