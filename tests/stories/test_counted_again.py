"""What had to wait begins by the approvals of those who are there, and by enough of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from lifecycle.confirming import Membership, still_approved
from lifecycle.proposal import Proposal
from lifecycle.review import Absent
from lifecycle.state import State
from tests.builders import PROD, REFUND
from tests.fakes.notifier import PlainNotifier
from tests.stories.permits import permitted, the_permit
from tests.stories.test_left_while_it_waited import HOUR_MS, an_hour_passes, stood_still, waits
from tests.world import World


async def stands(world: World, proposal_id: str = "p1") -> tuple[State, str | None]:
    """Return the state of a proposal, and who opens it."""
    found = await world.proposal(proposal_id)
    return found.state, found.opener.id if found.opener else None


async def counted(world: World, there: Membership | None = None) -> Proposal | None:
    """Count the approvals of p1 again."""
    moment = world.workflow.world.moment()
    proposal = await world.proposal("p1")
    return await world.store.write(lambda tx: still_approved(tx, moment, proposal, there))


async def test_too_few_are_left_although_the_one_who_opened_it_is_among_them(world: World) -> None:
    await waits(world, "p1", "ana", "ben", approval_class="dual")
    world.notifier.lost = frozenset({"ana"})
    await an_hour_passes(world)

    assert await stands(world) == (State.SENTINEL_APPROVED, None)
    assert world.tool("send-email").verbs() == []
    (entry,) = await world.audit("quorum_counted")
    assert entry["details"] == {"approvals": 1, "quorum": 2}


async def test_an_agent_gets_no_permit_for_what_only_somebody_who_has_left_approved(
    world: World,
) -> None:
    await stood_still(world, REFUND)

    held = await world.proposal("p1")
    assert (held.opener, held.permit_waits) == (None, False)
    assert await world.audit("permit_handed_over") == []


async def test_a_permit_is_redeemed_in_the_name_of_those_who_are_there(world: World) -> None:
    proposal_id = await permitted(world)
    await world.approves("ben", proposal_id, "checked")
    token = await the_permit(world)
    world.notifier.lost = frozenset({"ana"})
    world.clock.advance(60)
    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert reply.done
    assert await stands(world, proposal_id) == (State.EXECUTING, "ben")


async def test_one_who_was_asked_for_just_now_answers_for_nobody_else(world: World) -> None:
    await waits(world)
    await waits(world, "p2", "ana", "ben", approval_class="dual")
    world.clock.advance(HOUR_MS / 1000)
    await world.workflow.gatekeeper.confirmed.approvers_of("p1")
    world.notifier.lost = frozenset({"ben"})
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert await stands(world, "p2") == (State.SENTINEL_APPROVED, None)


async def test_an_answer_about_some_of_them_is_none_about_all(world: World) -> None:
    """Another may have approved since it was asked."""
    await waits(world, "p1", "ana", "ben", approval_class="dual")
    world.clock.advance(60)

    assert await counted(world, Membership(frozenset({"ben"}))) is None
    assert await counted(world, Membership(frozenset({"ana", "ben"}))) is not None


@pytest.mark.parametrize(("after_s", "asks"), [(0, False), (30, False), (31, True)])
async def test_nobody_is_asked_for_anew_until_half_a_minute_after_there_were_enough(
    world: World, after_s: int, asks: bool
) -> None:
    times = {"valid_from_ms": world.clock.now_ms() + HOUR_MS}
    times |= {"valid_until_ms": times["valid_from_ms"] + HOUR_MS, "max_duration_ms": 60_000}
    await world.submits(proposal_id="p1", approval_class="dual", time_window=times)
    await world.approves("ana", "p1")
    world.clock.advance(60)
    await world.approves("ben", "p1")
    world.clock.advance(after_s)

    assert (await counted(world) is None) == asks


async def known_to_have_left(world: World) -> None:
    """Let p1 to p3 wait. Ana is found to have left just now, and the chat falls silent."""
    for proposal_id in ("p1", "p2", "p3"):
        await waits(world, proposal_id, "ben" if proposal_id == "p3" else "ana")
    world.notifier.lost = frozenset({"ana"})
    world.clock.advance(HOUR_MS / 1000)
    await world.workflow.gatekeeper.confirmed.approvers_of("p1")
    world.notifier.lost, world.notifier.unread = frozenset(), frozenset({"ana"})


async def test_who_has_left_is_not_back_by_a_decision_that_nobody_could_confirm(
    world: World,
) -> None:
    await known_to_have_left(world)
    await world.approves("ana", "p3")
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert await stands(world, "p2") == (State.SENTINEL_APPROVED, None)


async def test_who_has_left_is_not_back_because_others_were_asked_for_meanwhile(
    world: World,
) -> None:
    await known_to_have_left(world)
    world.clock.advance(180)
    await world.workflow.gatekeeper.confirmed.approvers_of("p3")
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert await stands(world, "p2") == (State.SENTINEL_APPROVED, None)
    assert (await stands(world, "p3"))[0] is State.EXECUTING


async def test_who_is_back_as_the_chat_says_lets_begin_what_they_approved(world: World) -> None:
    await known_to_have_left(world)
    world.notifier.unread = frozenset()
    world.clock.advance(60)
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert (await stands(world, "p2"))[0] is State.EXECUTING


async def test_who_was_refused_as_no_member_is_asked_for_anew(world: World) -> None:
    """The answer of a moment ago, that they had not left, is older than the refusal."""
    await waits(world)
    await waits(world, "p2", "ben")
    world.clock.advance(HOUR_MS / 1000)
    await world.workflow.gatekeeper.confirmed.approvers_of("p1")
    world.notifier.lost = frozenset({"ana"})
    await world.approves("ana", "p2")
    await world.workflow.open_ready()
    await world.workflow.idle()

    assert await stands(world) == (State.SENTINEL_APPROVED, None)


@dataclass
class BusyChat(PlainNotifier):
    """A chat that answers one question at a time; to any other it cannot say who has left."""

    answering: bool = False

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        if self.answering:
            return frozenset() if only_certain else frozenset(people)
        self.answering = True
        for _ in range(20):  # others go on meanwhile
            await asyncio.sleep(0)
        self.answering = False
        return await super().lost_members(people, only_certain=only_certain)


async def test_many_that_begin_at_once_ask_the_chat_one_question(world: World) -> None:
    """Asked by each of them, it would answer only the first; the others would begin."""
    ids = ("p1", "p2", "p3")
    for proposal_id in ids:
        await waits(world, proposal_id)
    world.clock.advance(HOUR_MS / 1000)
    world.workflow.world.notifier = BusyChat(lost=frozenset({"ana"}))
    await asyncio.gather(*map(world.workflow.gatekeeper.open, ids))
    await world.workflow.idle()

    assert [await stands(world, each) for each in ids] == [(State.SENTINEL_APPROVED, None)] * 3


async def test_what_nobody_had_to_approve_is_not_counted_again(world: World) -> None:
    await world.submits(proposal_id="p1", tool="search", action_type="read", parameters={"q": "a"})
    await world.workflow.idle()

    assert (await world.proposal("p1")).execution is not None
    assert await world.audit("quorum_counted") == []


async def test_a_card_says_that_members_are_not_confirmed_only_where_others_must_approve(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    shown: list[str] = []
    for person in ("ana", "ben"):
        await world.approves(person, "p1")
        given = await world.store.read(lambda tx: tx.reviews.of("p1"))
        beside = Beside(world.workflow.policy, world.clock.now_ms(), given)
        shown.append(str(card_of(await world.proposal("p1"), beside)))

    assert ["approved by 1 of 2 (ana)" in shown[0], "approved by 2 of 2" in shown[1]] == [
        True,
        True,
    ]
    assert "not all of them are confirmed" not in "".join(shown)
