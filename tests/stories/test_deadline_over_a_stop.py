"""A deadline that passes while a stop waits to be worked does not decide in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from bot.chat.board import board_of
from bot.chat.status import status_reply
from bot.trail import verified_in
from bot.views import pending_page
from lifecycle.answers import CardPlace
from lifecycle.heard import HeardStop, note
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Proposal
from lifecycle.state import State
from tests.builders import PROD, REFUND
from tests.stories.permits import permitted, the_permit
from tests.world import World

IN_TIME_S, AFTER_S = 60, 61


@pytest.fixture
async def late(world: World) -> World:
    """A proposal, p1, that nobody decided on, a minute before its deadline."""
    await world.submits(PROD)
    world.clock.set((await world.proposal("p1")).deadline_ms - IN_TIME_S * 1000)
    return world


async def heard(world: World, **of_what: object) -> HeardStop:
    """Let the inbox of a surface take a stop under the event id e1."""
    stop = HeardStop("terminal:e1", "terminal", world.clock.now_ms(), **of_what)  # type: ignore[arg-type]
    world.workflow.world.heard.add(await world.store.write(lambda tx: note(tx, stop)))
    return stop


async def worked(world: World, by: str = "ben", reason: str = "too risky") -> str | None:
    """Come to the stop that was heard."""
    reply = await world.workflow.reject("p1", world.sender(by, "e1"), reason)
    world.workflow.world.heard.drop("terminal:e1")
    await world.keeps_house()
    return reply.code


async def state(world: World) -> tuple[State, str | None]:
    proposal = await world.proposal("p1")
    return proposal.state, proposal.reason


async def test_a_stop_that_was_heard_in_time_decides_over_the_deadline(late: World) -> None:
    heard_at_ms = late.clock.now_ms()
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)
    assert await state(late) == (State.SENTINEL_APPROVED, None)

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
    assert [error.code for error in again.errors] == ["previously_rejected"]


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
    assert await state(late) == (State.REJECTED, "rejected_by_person")


async def test_a_stop_that_was_nobodys_leaves_the_end_to_the_deadline(late: World) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)

    assert await worked(late, by="stranger") == "not_a_reviewer"

    assert await state(late) == (State.REJECTED, "expired")


@pytest.mark.parametrize(
    "of_what",
    [{}, {"proposal_id": "p1", "takes_back": True}, {"message_id": "no-card"}],
    ids=["freeze", "withdrawal", "on no card"],
)
async def test_what_is_no_refusal_of_it_holds_no_deadline(
    late: World, of_what: dict[str, object]
) -> None:
    await heard(late, **of_what)
    await late.passes(seconds=AFTER_S)
    assert await state(late) == (State.REJECTED, "expired")


async def test_a_stop_that_was_heard_after_the_deadline_is_late(late: World) -> None:
    late.clock.advance(AFTER_S)
    await heard(late, proposal_id="p1")
    await late.keeps_house()
    assert await state(late) == (State.REJECTED, "expired")
    assert await worked(late) == "already_decided"


async def test_a_stop_that_nobody_can_work_is_let_go_of_and_the_deadline_ends_it(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    await late.passes(seconds=AFTER_S)

    reply = await late.workflow.retry("p1", late.sender("ana"))
    await late.keeps_house()

    assert reply.done
    assert await state(late) == (State.REJECTED, "expired")


async def test_a_stop_for_which_a_slow_platform_is_asked_counts_from_when_it_was_given(
    late: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()
    ask = late.notifier.lost_members

    async def slowly(people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        asked.set()
        await answer.wait()
        return await ask(people, surely=surely)

    monkeypatch.setattr(late.notifier, "lost_members", slowly)
    stopping = asyncio.create_task(late.workflow.reject("p1", late.sender("ben"), "too risky"))
    await asked.wait()
    late.clock.advance(AFTER_S)
    await late.workflow.expire_due()
    assert await state(late) == (State.SENTINEL_APPROVED, None)

    answer.set()

    assert (await stopping).done
    assert await state(late) == (State.REJECTED, "rejected_by_person")
    assert (await verified_in(late.store, None, lambda _: None)).problems == []


async def test_a_permit_is_redeemed_by_nobody_while_a_stop_of_it_waits(world: World) -> None:
    await permitted(world)
    permit = await the_permit(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms + 1)
    await world.keeps_house()
    assert await state(world) == (State.SENTINEL_APPROVED, None)

    sender = world.sender("leila")
    reply = await world.workflow.redeem(permit, REFUND["parameters"], sender)
    assert reply.code == "permit_expired"

    await worked(world)
    assert await state(world) == (State.REJECTED, "rejected_by_person")


async def test_no_new_policy_brings_back_what_is_past_its_deadline(world: World) -> None:
    await permitted(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms)
    await world.keeps_house()

    await world.adopts()
    await world.keeps_house()
    assert (await world.proposal("p1")).expired(world.clock.now_ms())

    assert await worked(world, by="stranger") == "not_a_reviewer"
    assert await state(world) == (State.REJECTED, "permit_expired")


async def test_nor_a_permit_that_was_not_redeemed_in_time_where_no_stop_waits(
    world: World,
) -> None:
    await permitted(world)
    world.clock.set((await world.proposal("p1")).deadline_ms)

    await world.adopts()  # as the first thing after a night in which no bot ran
    await world.keeps_house()

    assert await state(world) == (State.REJECTED, "permit_expired")


async def test_nor_one_that_is_judged_over_the_moment_of_the_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await permitted(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms - 1)
    ask = world.notifier.lost_members

    async def slowly(people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        world.clock.advance(1)
        return await ask(people, surely=surely)

    monkeypatch.setattr(world.notifier, "lost_members", slowly)

    await world.adopts()

    assert (await world.proposal("p1")).expired(world.clock.now_ms())


async def test_people_are_called_once_to_a_stop_that_keeps_a_deadline_from_ending_it(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    for _ in range(3):
        await late.passes(seconds=AFTER_S)

    kept = await late.proposal("p1")
    assert kept.attention is Attention.OVERDUE
    assert kept.attention_why.endswith("; let go of that: retry p1")
    assert (await late.trail("p1")).count("attention") == 1

    await late.workflow.retry("p1", late.sender("ana"))
    await late.keeps_house()
    assert await state(late) == (State.REJECTED, "expired")
    assert (await late.proposal("p1")).attention is None
    assert (await verified_in(late.store, None, lambda _: None)).problems == []


async def test_a_process_that_began_just_now_comes_to_a_stop_before_people_are_called(
    late: World,
) -> None:
    await heard(late, proposal_id="p1")
    late.clock.advance(2 * AFTER_S)
    await late.restarts()
    await late.passes(seconds=AFTER_S - 2)
    assert (await late.proposal("p1")).attention is None

    assert await worked(late) is None

    assert await state(late) == (State.REJECTED, "rejected_by_person")
    assert "attention" not in await late.trail("p1")


async def test_what_stops_keep_past_their_deadline_hides_nothing_behind_it(late: World) -> None:
    kept, last = await many_kept(late, 210)
    late.clock.set(last.deadline_ms - 1)

    await late.workflow.expire_due()

    assert (await late.proposal("p1")).reason == "expired"
    assert {(await late.proposal(each)).terminal for each in kept} == {False}
    now_ms, policy = late.clock.now_ms(), late.workflow.policy
    page = await late.store.read(lambda tx: pending_page(tx, now_ms))
    status = await late.store.read(lambda tx: status_reply(tx, policy, now_ms))
    board = await late.store.read(lambda tx: board_of(tx, now_ms))
    assert [each.proposal_id for each in page.waiting] == ["last"]
    assert [line.proposal_id for line in board.groups[1].lines] == ["last"]
    assert "1 pending, 0 executing" in status.text


async def many_kept(world: World, count: int) -> tuple[list[str], Proposal]:
    """Let so many stops wait of proposals whose deadline comes before that of p1, and one proposal
    stand whose deadline comes after it."""
    like = await world.proposal("p1")
    kept = [f"kept-{number}" for number in range(count)]
    last = like.but(proposal_id="last", content_digest="sha256:l", deadline_ms=like.deadline_ms + 9)

    def unit(tx: Transaction) -> None:
        tx.proposals.add(last)
        for each in kept:
            before_ms = like.deadline_ms - 1
            twin = like.but(proposal_id=each, content_digest=each, deadline_ms=before_ms)
            tx.proposals.add(twin)

    await world.store.write(unit)
    for each in kept:
        stop = HeardStop(f"terminal:{each}", "terminal", world.clock.now_ms(), each)
        world.workflow.world.heard.add(stop)
    return kept, last
