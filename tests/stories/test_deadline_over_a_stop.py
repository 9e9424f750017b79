"""A deadline that passes while a stop waits to be worked does not decide in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from bot.trail import verified_in
from lifecycle.answers import CardPlace
from lifecycle.expiry import as_seen
from lifecycle.state import State
from tests.builders import PROD, REFUND
from tests.stories.hearing import AFTER_S, end_of, heard, worked
from tests.stories.permits import permitted, the_permit
from tests.world import World


async def test_a_stop_that_was_heard_in_time_decides_over_the_deadline(late: World) -> None:
    heard_at_ms = late.clock.now_ms()
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    assert await end_of(late) == (State.SENTINEL_APPROVED, None)

    assert await worked(late) is None

    ended = await late.proposal("p1")
    assert (ended.state, ended.explanation) == (State.REJECTED, "too risky")
    assert str(ended.decided_by) == "person ben"
    (review,) = await late.store.read(lambda tx: tx.reviews.of("p1"))
    assert review.at_ms == heard_at_ms
    assert (await verified_in(late.store, None, lambda _: None)).problems == []


async def test_the_refusal_binds_the_agent_as_any_other_does(late: World) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    meanwhile = await late.submits(PROD)
    await worked(late)

    again = await late.submits(PROD)

    assert (meanwhile.proposal_id, meanwhile.deduplicated) == ("p1", True)
    assert (meanwhile.state, meanwhile.reason) == ("rejected", "expired")
    assert [error.code for error in again.errors] == ["previously_rejected"]


@pytest.mark.parametrize("asks", ["submit", "check"])
async def test_whoever_sends_the_same_again_meanwhile_hears_what_every_view_says(
    late: World, asks: str
) -> None:
    """It was answered as open by one door and as expired by the other."""
    raw = (await late.proposal("p1")).document
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    seen = as_seen(await late.proposal("p1"), late.clock.now_ms())

    answer = await getattr(late.workflow, asks)(raw, late.sender("leila"))

    assert (answer.proposal_id, answer.deduplicated) == ("p1", True)
    assert (answer.state, answer.reason, answer.explanation) == (
        seen.state.value,
        seen.reason,
        seen.explanation,
    )
    assert (answer.state, answer.reason) == ("rejected", "expired")
    assert await end_of(late) == (State.SENTINEL_APPROVED, None)


async def test_meanwhile_nobody_approves_and_nothing_begins(late: World) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)

    reply = await late.approves("ana", "p1")
    await late.keeps_house()

    assert reply.code == "already_decided"
    assert "The deadline of p1 was" in reply.words
    assert late.tool("production-deploy").verbs() == []


async def test_the_same_stop_found_on_its_card_meanwhile_is_not_refused_for_good(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    place = CardPlace("terminal", "m-p1")

    found = await late.workflow.reject("p1", late.sender("ben"), card=place, found_late=True)

    assert found.passing
    assert "ignored" not in await late.trail("p1")
    assert await worked(late) is None
    assert await end_of(late) == (State.REJECTED, "rejected_by_person")


async def test_a_stop_that_was_nobodys_leaves_the_end_to_the_deadline(late: World) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)

    assert await worked(late, by="stranger") == "not_a_reviewer"

    assert await end_of(late) == (State.REJECTED, "expired")


@pytest.mark.parametrize(
    "of_what",
    [{}, {"proposal_id": "p1", "takes_back": True}, {"message_id": "no-card"}],
    ids=["freeze", "withdrawal", "on no card"],
)
async def test_what_is_no_refusal_of_it_holds_no_deadline(
    late: World, of_what: dict[str, Any]
) -> None:
    await heard(late, **of_what)
    await late.passes(seconds=AFTER_S)
    assert await end_of(late) == (State.REJECTED, "expired")


async def test_a_stop_that_was_heard_after_the_deadline_is_late(late: World) -> None:
    late.clock.advance(AFTER_S)
    await heard(late, proposal_id="p1")
    await late.keeps_house()
    assert await end_of(late) == (State.REJECTED, "expired")
    assert await worked(late) == "already_decided"


async def test_a_stop_that_nobody_can_work_is_let_go_of_and_the_deadline_ends_it(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)

    reply = await late.workflow.retry("p1", late.sender("ana"))
    await late.keeps_house()

    assert reply.done
    assert await end_of(late) == (State.REJECTED, "expired")


async def test_whoever_decides_then_is_told_to_let_go_of_the_stop_that_nobody_can_work(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    await late.passes(seconds=120)

    for act in (late.workflow.approve, late.workflow.reject):
        reply = await act("p1", late.sender("ana"), "because")
        assert reply.code == "already_decided"
        assert "let go of that: retry p1" in reply.words


async def test_a_stop_for_which_a_slow_platform_is_asked_counts_from_when_it_was_given(
    late: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()
    ask = late.notifier.lost_members

    async def slowly(people: Iterable[str], *, only_certain: bool = False) -> frozenset[str]:
        asked.set()
        await answer.wait()
        return await ask(people, only_certain=only_certain)

    monkeypatch.setattr(late.notifier, "lost_members", slowly)
    stopping = asyncio.create_task(late.workflow.reject("p1", late.sender("ben"), "too risky"))
    await asked.wait()
    late.clock.advance(AFTER_S)
    await late.workflow.expire_due()
    assert await end_of(late) == (State.SENTINEL_APPROVED, None)

    answer.set()

    assert (await stopping).done
    assert await end_of(late) == (State.REJECTED, "rejected_by_person")
    assert (await verified_in(late.store, None, lambda _: None)).problems == []


async def test_a_permit_is_redeemed_by_nobody_while_a_stop_of_it_waits(world: World) -> None:
    await permitted(world)
    permit = await the_permit(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms + 1)
    await world.keeps_house()
    assert await end_of(world) == (State.SENTINEL_APPROVED, None)

    sender = world.sender("leila")
    reply = await world.workflow.redeem(permit, REFUND["parameters"], sender)
    assert reply.code == "permit_expired"

    await worked(world)
    assert await end_of(world) == (State.REJECTED, "rejected_by_person")
