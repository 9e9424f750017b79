"""Whoever approved what had to wait, and has left when it could begin, lets nothing begin."""

from __future__ import annotations

from collections.abc import Iterable

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


async def waits(world: World, proposal_id: str = "p1", *by: str) -> None:
    """Let ana, or others, approve a mail that may be sent in an hour."""
    now_ms = world.clock.now_ms()
    times = {"valid_from_ms": now_ms + HOUR_MS, "valid_until_ms": now_ms + 2 * HOUR_MS}
    window = times | {"max_duration_ms": 60_000}
    target = MAIL["target"] | {"resource_id": f"of-{proposal_id}"}
    await world.submits(MAIL, proposal_id=proposal_id, target=target, time_window=window)
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


async def test_what_stood_still_does_not_begin_after_the_thaw_for_whoever_was_banned_meanwhile(
    world: World,
) -> None:
    """It is why somebody freezes: an account was stolen, and has approved."""
    assert (await world.workflow.freeze("ben's account is stolen", world.sender("ana"))).done
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ben", "p1")
    world.notifier.banned = frozenset({("ben", "terminal")})
    world.clock.advance(60)
    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.workflow.open_ready()
    await world.workflow.idle()

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
