"""What is past its deadline stays so under every policy, and what a stop keeps there is seen."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bot.chat.commands.status import status_reply
from bot.chat.showing.board import board_of
from bot.trail import verified_in
from bot.views import pending_page
from lifecycle.heard import HeardStop
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Proposal
from lifecycle.state import State
from tests.stories.hearing import AFTER_S, end_of, heard, worked
from tests.stories.permits import permitted
from tests.world import World


async def test_no_new_policy_brings_back_what_is_past_its_deadline(world: World) -> None:
    await permitted(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms)
    await world.keeps_house()

    await world.adopts()
    await world.keeps_house()
    assert (await world.proposal("p1")).expired(world.clock.now_ms())

    assert await worked(world, by="stranger") == "not_a_reviewer"
    assert await end_of(world) == (State.REJECTED, "permit_expired")


async def test_nor_a_permit_that_was_not_redeemed_in_time_where_no_stop_waits(
    world: World,
) -> None:
    await permitted(world)
    world.clock.set((await world.proposal("p1")).deadline_ms)

    await world.adopts()  # as the first thing after a night in which no bot ran
    await world.keeps_house()

    assert await end_of(world) == (State.REJECTED, "permit_expired")


async def test_nor_one_that_is_judged_over_the_moment_of_the_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await permitted(world)
    await heard(world, proposal_id="p1")
    world.clock.set((await world.proposal("p1")).deadline_ms - 1)
    ask = world.notifier.lost_members

    async def slowly(people: Iterable[str], *, only_certain: bool = False) -> frozenset[str]:
        world.clock.advance(1)
        return await ask(people, only_certain=only_certain)

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
    assert await end_of(late) == (State.REJECTED, "expired")
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

    assert await end_of(late) == (State.REJECTED, "rejected_by_person")
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
