"""Whoever approved what had to wait, and has left when it could begin, lets nothing begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.trail import verified_in
from lifecycle.confirming import lately
from lifecycle.state import State
from tests.builders import MAIL, PROD, REFUND
from tests.stories.permits import begun_after, permitted, the_permit
from tests.world import World

HOUR_MS = 3_600_000


async def waits(world: World, proposal_id: str = "p1", *by: str, **changes: Any) -> None:
    """Let ana, or others, approve a mail that may be sent in an hour."""
    now_ms = world.clock.now_ms()
    times = {"valid_from_ms": now_ms + HOUR_MS, "valid_until_ms": now_ms + 2 * HOUR_MS}
    window = times | {"max_duration_ms": 60_000}
    changes |= {"target": MAIL["target"] | {"resource_id": f"of-{proposal_id}"}}
    await world.submits(MAIL, proposal_id=proposal_id, time_window=window, **changes)
    for person in by or ("ana",):
        await world.approves(person, proposal_id)
    assert (await world.proposal(proposal_id)).waiting_for == "valid_from_ms"


async def an_hour_passes(world: World) -> None:
    world.clock.advance(HOUR_MS / 1000)
    await world.workflow.open_ready()
    await world.workflow.idle()


@pytest.mark.parametrize(
    ("lost", "banned"),
    [(frozenset({"ana"}), frozenset()), (frozenset(), frozenset({("ana", "terminal")}))],
)
async def test_what_waits_for_its_time_does_not_begin_for_an_account_that_has_left(
    world: World, lost: frozenset[str], banned: frozenset[tuple[str, str]]
) -> None:
    await waits(world)
    world.notifier.lost, world.notifier.banned = lost, banned
    await an_hour_passes(world)

    held = await world.proposal("p1")
    assert (held.state, held.opener, held.waiting_for) == (State.SENTINEL_APPROVED, None, None)
    assert world.tool("send-email").verbs() == []
    given = await world.store.read(lambda tx: tx.reviews.of("p1"))
    card = card_of(held, Beside(world.workflow.policy, world.clock.now_ms(), given))
    assert "approved by 1 of 1 (ana); not all of them are confirmed as members" in str(card)
    (entry,) = await world.audit("quorum_counted")
    assert (entry["actor"]["kind"], entry["details"]["approvals"]) == ("sentinel", 0)

    await world.approves("ben", "p1")
    assert (await world.proposal("p1")).state is State.EXECUTING
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def stood_still(world: World, document: Mapping[str, Any]) -> None:
    """Freeze, let ben approve p1 with words, have his account banned, and thaw a minute later."""
    assert (await world.workflow.freeze("ben's account is stolen", world.sender("ana"))).done
    await world.submits(document, proposal_id="p1")
    await world.approves("ben", "p1", "checked")
    world.notifier.banned = frozenset({("ben", "terminal")})
    world.clock.advance(60)
    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.workflow.open_ready()
    await world.workflow.idle()


async def test_what_stood_still_does_not_begin_after_the_thaw_for_whoever_was_banned_meanwhile(
    world: World,
) -> None:
    """It is why somebody freezes: an account was stolen, and has approved."""
    await stood_still(world, PROD)

    held = await world.proposal("p1")
    assert (held.state, held.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool("production-deploy").verbs() == []


async def test_what_waits_begins_although_no_chat_says_who_is_a_member(world: World) -> None:
    """They were confirmed when they approved, and nobody says that they have left."""
    await waits(world)
    world.notifier.unread = frozenset({"ana"})
    await an_hour_passes(world)

    assert (await world.proposal("p1")).state is State.EXECUTING


async def test_a_permit_that_was_held_begins_nothing_for_an_account_that_was_banned_meanwhile(
    world: World,
) -> None:
    proposal_id = await permitted(world)
    token = await the_permit(world)
    world.notifier.banned = frozenset({("ana", "terminal")})
    world.clock.advance(60)
    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert reply.code == "permit_mismatch"
    assert "people are asked again" in reply.words
    held = await world.proposal(proposal_id)
    assert (held.opener, held.permit_waits) == (None, False)
    again = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))
    assert again.code == "permit_mismatch"

    await world.approves("ben", proposal_id, "checked")
    assert await begun_after(world) == proposal_id
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_what_another_has_approved_too_begins_in_their_name(world: World) -> None:
    await waits(world, "p1", "ana", "ben")
    world.notifier.lost = frozenset({"ana"})
    await an_hour_passes(world)

    held = await world.proposal("p1")
    assert (held.state, str(held.opener)) == (State.EXECUTING, "person ben")


async def test_a_chat_is_asked_once_about_those_who_approved_what_begins_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for proposal_id in ("p1", "p2", "p3"):
        await waits(world, proposal_id)
    asked: list[frozenset[str]] = []

    async def lost_members(people: Iterable[str], *, only_certain: bool) -> frozenset[str]:
        assert only_certain
        asked.append(frozenset(people))
        return frozenset()

    monkeypatch.setattr(world.notifier, "lost_members", lost_members)
    await an_hour_passes(world)

    states = {(await world.proposal(each)).state for each in ("p1", "p2", "p3")}
    assert states == {State.EXECUTING}
    assert asked == [frozenset({"ana"})]


def test_a_clock_that_was_set_back_makes_no_answer_a_fresh_one(world: World) -> None:
    now = world.workflow.world.moment()

    assert [lately(now, now.now_ms - ago_ms) for ago_ms in (-1, 0, 30_000, 30_001)] == [
        *(False, True, True, False)
    ]


async def test_one_more_approval_shortly_before_confirms_nobody_but_its_giver(world: World) -> None:
    """It made the banned ones look as if they had been confirmed just now."""
    await waits(world, "p1", "ana", "ben", approval_class="dual")
    world.clock.advance(HOUR_MS / 1000 - 10)
    world.notifier.banned = frozenset({("ana", "terminal"), ("ben", "terminal")})
    await world.approves("dee", "p1")
    world.clock.advance(11)
    await world.workflow.open_ready()
    await world.workflow.idle()

    held = await world.proposal("p1")
    assert (held.state, held.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool("send-email").verbs() == []


async def test_whoever_has_joined_again_opens_it_at_once_by_approving_again(world: World) -> None:
    """They were told that all approvals are confirmed, and half a minute long nothing began."""
    await waits(world)
    world.notifier.lost = frozenset({"ana"})
    await an_hour_passes(world)
    world.notifier.lost = frozenset()
    world.clock.advance(5)
    await world.approves("ana", "p1")

    assert (await world.proposal("p1")).state is State.EXECUTING
    assert len(await world.audit("quorum_counted")) == 2


async def test_a_chat_that_hangs_holds_up_no_proposal_for_each_of_its_approvers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = dict(world.workflow.policy.people)
    people["cal"] = replace(people["cal"], groups=frozenset({"approvers"}))
    await world.adopts(people=people)
    for number in range(10):
        await waits(world, f"p{number}", ("ana", "ben", "cal", "dee")[number % 4])
    asked: list[frozenset[str]] = []

    async def lost_members(people: Iterable[str], *, only_certain: bool) -> frozenset[str]:
        asked.append(frozenset(people))
        world.clock.advance(8)
        return frozenset()

    monkeypatch.setattr(world.notifier, "lost_members", lost_members)
    await an_hour_passes(world)

    states = {(await world.proposal(f"p{number}")).state for number in range(10)}
    assert states == {State.EXECUTING}
    assert [len(people) for people in asked] == [1, 2, 3, 4]


async def test_who_was_known_to_have_left_is_not_back_because_the_chat_answers_no_more(
    world: World,
) -> None:
    """So many cards changed after a thaw that the chat had no time for a second answer."""
    await waits(world)
    await waits(world, "p2")
    world.notifier.lost = frozenset({"ana"})
    world.clock.advance(HOUR_MS / 1000)
    await world.workflow.gatekeeper.confirmed.approvers_of("p1")
    world.notifier.lost, world.notifier.unread = frozenset(), frozenset({"ana"})
    world.clock.advance(60)
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == []
    world.notifier.unread = frozenset()
    world.clock.advance(60)
    await world.approves("ana", "p2")
    assert (await world.proposal("p2")).state is State.EXECUTING


async def test_who_has_joined_again_and_approved_is_none_who_has_left(world: World) -> None:
    """A chat that says nothing any more says nothing against what it confirmed meanwhile."""
    await waits(world)
    world.notifier.lost = frozenset({"ana"})
    await an_hour_passes(world)
    world.notifier.lost = frozenset()
    await waits(world, "p2")
    world.notifier.unread = frozenset({"ana"})
    await an_hour_passes(world)

    assert (await world.proposal("p2")).state is State.EXECUTING


async def test_a_reload_opens_nothing_by_an_approval_of_somebody_who_had_left(
    world: World,
) -> None:
    """While the chat does not answer a reload knows only that nobody has surely left."""
    await waits(world)
    world.notifier.lost = frozenset({"ana"})
    await an_hour_passes(world)
    world.notifier.lost, world.notifier.unread = frozenset(), frozenset({"ana"})
    world.clock.advance(60)
    await world.adopts()
    await world.passes(seconds=31)

    held = await world.proposal("p1")
    assert (held.state, held.opener) == (State.SENTINEL_APPROVED, None)
    await world.approves("ben", "p1")
    assert (await world.proposal("p1")).state is State.EXECUTING
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_a_reload_opens_nothing_where_an_approval_could_not_be_confirmed(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.approves("ana", "p1")
    world.notifier.unread = frozenset({"ana"})
    await world.approves("ben", "p1")
    await world.adopts()
    await world.passes(seconds=31)

    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    world.notifier.unread = frozenset()
    await world.approves("ben", "p1")
    assert (await world.proposal("p1")).state is not State.SENTINEL_APPROVED
