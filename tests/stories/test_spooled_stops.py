"""A stop that the store could not take is a decision like any other, given when it was given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.trail import verified_in
from lifecycle.answers import CardPlace
from lifecycle.ports import StoreUnavailable
from tests.builders import MAIL, PROD, REFUND
from tests.stage import in_memory
from tests.stories.spooling import MAILER, nothing_can_be_stored, stopped_in_vain
from tests.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with in_memory(tmp_path) as stage:
        yield stage


async def a_minute_before_its_end(world: World, document: Mapping[str, Any] = PROD) -> str:
    proposal_id = (await world.submits(document)).proposal_id or ""
    world.clock.set((await world.proposal(proposal_id)).deadline_ms - 60_000)
    return proposal_id


@pytest.mark.parametrize(
    "what",
    ["the sweep", "a submission", "an approval", "an opening", "a restart", "a withdrawal"],
)
async def test_a_stop_given_in_time_counts_although_it_is_carried_out_after_the_deadline(
    world: World, what: str
) -> None:
    proposal_id = await a_minute_before_its_end(world)
    kept = await stopped_in_vain(world, "ben", proposal_id)
    world.clock.advance(61)
    match what:
        case "the sweep":
            assert await world.workflow.expire_due() == 0
        case "a submission":
            assert (await world.submits(PROD)).proposal_id == proposal_id
        case "an approval":
            assert (await world.approves("ana", proposal_id)).code == "already_decided"
        case "an opening":
            await world.workflow.gatekeeper.open(proposal_id)
        case "a withdrawal":
            reply = await world.workflow.withdraw(proposal_id, world.sender("leila"))
            assert reply.code == "already_decided"
        case _:
            await world.restarts()

    await world.keeps_house()

    ended = await world.proposal(proposal_id)
    (review,) = await world.store.read(lambda tx: tx.reviews.of(proposal_id))
    assert kept.done
    assert (ended.reason, str(ended.decided_by)) == ("rejected_by_person", "person ben")
    assert ended.explanation == "never do this"
    assert review.at_ms == ended.deadline_ms - 60_000
    assert (await world.submits(PROD)).reason == "previously_rejected"
    assert (world.spool.stops, world.workflow.world.held) == ([], set())
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_the_trail_says_when_a_stop_was_given_that_came_later(world: World) -> None:
    proposal_id = await a_minute_before_its_end(world)
    await stopped_in_vain(world, "ben", proposal_id)
    world.clock.advance(61)

    await world.keeps_house()

    (entry,) = await world.audit("reject")
    assert entry["at"] == "2026-03-03T12:00:01.000Z"
    assert entry["details"]["given_at"] == "2026-03-03T11:59:00.000Z"


async def test_a_stop_given_after_the_deadline_is_late_whenever_it_is_carried_out(
    world: World,
) -> None:
    proposal_id = await a_minute_before_its_end(world)
    world.clock.advance(61)
    late = await stopped_in_vain(world, "ben", proposal_id)
    line = {"proposal_id": proposal_id, "surface": "terminal", "kind": "person", "id": "ben"}
    world.spool.keep(line | {"reason": "too late", "at_ms": world.clock.now_ms()})

    await world.restarts()
    await world.keeps_house()

    ended = await world.proposal(proposal_id)
    assert late.code == "already_decided"
    assert (ended.reason, str(ended.decided_by)) == ("expired", "clock clock")
    assert [row["reason"] for row in await world.audit("ignored")] == ["already_decided"]
    assert await world.store.read(lambda tx: tx.reviews.of(proposal_id)) == []
    assert (await world.submits(PROD)).state == "sentinel_approved"


async def test_a_late_stop_beside_one_in_time_takes_nothing_from_it(world: World) -> None:
    proposal_id = await a_minute_before_its_end(world)
    line = {"proposal_id": proposal_id, "surface": "terminal", "kind": "person", "reason": "no"}
    deadline_ms = world.clock.now_ms() + 60_000
    world.spool.keep(line | {"id": "ana", "at_ms": deadline_ms})
    world.spool.keep(line | {"id": "ben", "at_ms": deadline_ms - 1})
    world.clock.advance(61)

    await world.restarts()

    assert str((await world.proposal(proposal_id)).decided_by) == "person ben"


async def test_a_permit_that_lapses_under_a_stop_is_a_refusal_of_that_person(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await stopped_in_vain(world, "ben", proposal_id)
    world.clock.set((await world.proposal(proposal_id)).deadline_ms + 1)
    assert await world.workflow.expire_due() == 0

    await world.keeps_house()

    assert (await world.proposal(proposal_id)).reason == "rejected_by_person"


@pytest.mark.parametrize("person", ["cal", "ben"])
async def test_who_can_stop_nothing_holds_nothing_up(world: World, person: str) -> None:
    """cal is in no group, ben is known to have left."""
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.notifier.lost = frozenset({"ben"})

    reply = await stopped_in_vain(world, person, proposal_id)

    assert reply.code == "not_a_reviewer"
    assert (world.spool.stops, world.workflow.world.held) == ([], set())
    await world.passes(minutes=15)
    assert world.tool(MAILER).verbs() == ["execute", "commit"]


async def test_who_can_stop_nothing_holds_nothing_up_though_nothing_can_be_read_either(
    world: World,
) -> None:
    async def unreadable(_view: Any) -> Any:
        raise StoreUnavailable("disk I/O error")

    proposal_id = (await world.submits(PROD)).proposal_id or ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "read", unreadable)
        replies = {who: await stopped_in_vain(world, who, proposal_id) for who in ("cal", "olga")}

    assert (replies["cal"].code, replies["olga"].done) == ("not_a_reviewer", True)
    assert [stop["id"] for stop in world.spool.stops] == ["olga"]


async def test_the_owner_of_another_agent_stops_nothing_of_this_one(world: World) -> None:
    people, agents = world.workflow.policy.people, world.workflow.policy.agents
    rob, nour = replace(people["olga"], id="rob"), replace(agents["nour"], owner="rob")
    await world.adopts(people=dict(people) | {"rob": rob}, agents=dict(agents) | {"nour": nour})
    proposal_id = (await world.submits(PROD)).proposal_id or ""

    assert (await stopped_in_vain(world, "rob", proposal_id)).code == "not_a_reviewer"
    assert (world.spool.stops, world.workflow.world.held) == ([], set())
    assert (await stopped_in_vain(world, "olga", proposal_id)).done


async def test_one_who_may_not_lets_go_of_nothing_that_another_holds(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await stopped_in_vain(world, "ben", proposal_id)

    await stopped_in_vain(world, "cal", proposal_id)

    assert world.workflow.world.held == {proposal_id}
    assert [stop["id"] for stop in world.spool.stops] == ["ben"]


async def test_where_membership_cannot_be_read_a_stop_is_kept_and_counts(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    world.notifier.unread = frozenset({"ben"})

    kept = await stopped_in_vain(world, "ben", proposal_id)
    await world.keeps_house()

    assert kept.done
    assert str((await world.proposal(proposal_id)).decided_by) == "person ben"


async def test_who_leaves_after_a_stop_has_given_it_all_the_same(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await stopped_in_vain(world, "ben", proposal_id)
    world.notifier.lost = frozenset({"ben"})

    await world.restarts()

    assert str((await world.proposal(proposal_id)).decided_by) == "person ben"


async def test_a_stop_is_kept_where_nothing_can_be_read_either(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""

    async def unreadable(_view: Any) -> Any:
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(world.store, "read", unreadable)
    kept = await stopped_in_vain(world, "olga", proposal_id)
    monkeypatch.undo()
    await world.keeps_house()

    assert kept.done
    assert str((await world.proposal(proposal_id)).decided_by) == "person olga"


@pytest.mark.parametrize(
    ("done_before", "code"),
    [("nothing", "unknown_proposal"), ("ended", "window_closed"), ("rejected", "already_decided")],
)
async def test_nobody_is_promised_a_stop_that_has_no_effect(
    world: World, done_before: str, code: str
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    if done_before == "ended":
        await world.approves("ana", proposal_id)
    if done_before == "rejected":
        await world.rejects("ana", proposal_id)
    asked_for = f"{proposal_id}x" if done_before == "nothing" else proposal_id

    reply = await stopped_in_vain(world, "ben", asked_for)

    assert reply.code == code
    assert (world.spool.stops, world.workflow.world.held) == ([], set())


async def test_a_cross_on_a_card_that_was_replaced_is_not_kept_either(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    old, current = (CardPlace("terminal", f"m-{each}") for each in ("old", proposal_id))

    assert (await stopped_in_vain(world, "ben", proposal_id, card=old)).code == "stale_card"
    assert (await stopped_in_vain(world, "ben", proposal_id, card=current)).done


async def test_a_stop_that_was_found_later_is_kept_as_such(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await stopped_in_vain(world, "ben", proposal_id, found_late=True)

    await world.keeps_house()

    (review,) = await world.store.read(lambda tx: tx.reviews.of(proposal_id))
    assert review.found_late


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_bare_cross_that_waited_for_the_store_waits_for_its_words_as_any_other(
    world: World, restarted: bool
) -> None:
    """The words behind it came to nothing, and its agent was never told why."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    ben, card = world.sender("ben"), CardPlace("terminal", f"m-{proposal_id}")
    with nothing_can_be_stored(world):
        await world.workflow.reject(proposal_id, ben, card=card)
        if restarted:  # by another process over the same spool
            world.workflow.world.held.clear()
    if restarted:
        await world.restarts()
    else:
        assert world.workflow.waits_for_words(proposal_id, ben)
        assert not world.workflow.waits_for_words(proposal_id, world.sender("ana"))
        await world.keeps_house()

    assert not world.workflow.waits_for_words(proposal_id, ben)
    assert (await world.workflow.give_reason(proposal_id, ben, "wrong version")).done
    ended = await world.proposal(proposal_id)
    assert (ended.state.value, ended.explanation) == ("rejected", "wrong version")
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_a_rejection_with_words_waits_for_no_others(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await stopped_in_vain(world, "ben", proposal_id)
    assert not world.workflow.waits_for_words(proposal_id, world.sender("ben"))
    await world.keeps_house()
    assert (await world.proposal(proposal_id)).reason_due_ms is None
