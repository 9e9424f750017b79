"""Whose approval counts is asked of the chat at the moment it is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.verdict import Verdict
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising
from tests.stories.doubtful import SEND
from tests.world import World


async def test_everybody_who_may_count_is_asked_for_before_anything_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    asked: list[frozenset[str]] = []

    async def lost_members(people: Iterable[str], *, only_certain: bool) -> frozenset[str]:
        assert not only_certain
        asked.append(frozenset(people))
        return frozenset()

    monkeypatch.setattr(world.notifier, "lost_members", lost_members)
    await world.approves("ana", proposal_id)
    assert asked == [{"ana"}]
    await world.approves("ben", proposal_id)

    assert asked == [{"ana"}, {"ben"}, {"ana", "ben"}]
    assert (await world.proposal(proposal_id)).state is State.EXECUTING
    assert (await world.trail(proposal_id)).count("reviewed") == 2


async def test_an_approval_of_somebody_who_has_left_is_not_counted(world: World) -> None:
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.notifier.lost = frozenset({"ana"})

    await world.approves("ben", proposal_id)

    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED


async def test_an_approval_by_an_account_that_was_banned_is_not_counted(world: World) -> None:
    """Somebody else had used it; that its owner is still a member elsewhere says nothing of it."""
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.notifier.banned = frozenset({("ana", "terminal")})

    await world.approves("ben", proposal_id)
    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED
    refused = await world.approves("ana", proposal_id)
    assert (refused.code, refused.passing) == ("not_a_reviewer", False)

    elsewhere = replace(world.sender("ana"), surface="slack")
    reply = await world.workflow.approve(proposal_id, elsewhere)
    await world.workflow.idle()
    assert reply.code is None
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_an_account_that_was_banned_still_stops_while_its_person_is_a_member(
    world: World,
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.notifier.banned = frozenset({("ben", "terminal")})

    await world.rejects("ben", proposal_id)

    assert (await world.proposal(proposal_id)).state is State.REJECTED


@pytest.mark.parametrize("happened", [True, False])
async def test_an_account_that_was_banned_settles_and_retries_nothing(
    world: World, happened: bool
) -> None:
    """What somebody else says by it would let a mail leave."""
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.notifier.banned = frozenset({("ben", "terminal")})

    settled = await world.workflow.settle(proposal_id, world.sender("ben"), happened=happened)
    retried = await world.workflow.retry(proposal_id, world.sender("ben"))

    assert [settled.code, retried.code] == ["not_a_reviewer"] * 2
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN
    elsewhere = replace(world.sender("ben"), surface="slack")
    reply = await world.workflow.settle(proposal_id, elsewhere, happened=happened)
    assert reply.code is None


async def test_whose_membership_cannot_be_read_hears_that_and_settles_later(world: World) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.notifier.unread = frozenset({"ben"})

    settled = await world.workflow.settle(proposal_id, world.sender("ben"), happened=False)

    assert settled.code == "not_a_reviewer"
    assert "cannot be read just now" in settled.words


async def test_an_approval_waits_for_nobody_whose_other_account_is_no_member(world: World) -> None:
    """Its ✅ was looked at again every few minutes, for as long as the proposal was open."""
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    world.notifier.banned = frozenset({("ana", "discord")})
    await world.approves("ana", proposal_id)

    again = await world.approves("ana", proposal_id)

    assert (again.code, again.passing) == ("already_counted", False)


async def test_who_cannot_be_read_may_stop_and_not_approve(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.notifier.unread = frozenset({"ana", "ben"})
    refused = await world.approves("ana", proposal_id)
    assert (refused.code, refused.passing) == ("not_a_reviewer", True)

    await world.rejects("ben", proposal_id)

    assert (await world.proposal(proposal_id)).state is State.REJECTED


async def test_who_is_known_to_have_left_may_stop_nothing(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.notifier.lost = frozenset({"ben"})

    assert (await world.rejects("ben", proposal_id)).code == "not_a_reviewer"


async def test_who_leaves_before_the_verdict_has_opened_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long document is judged in a thread, and may be approved meanwhile."""
    begun, judging, ask = asyncio.Event(), asyncio.Event(), Sentinel.check

    async def slowly(self: Sentinel, *args: Any, **options: Any) -> Verdict:
        begun.set()
        await judging.wait()
        return await ask(self, *args, **options)

    monkeypatch.setattr(Sentinel, "check", slowly)
    long = {"version": "v2.4.2", "notes": "Longer than what is judged at once. " * 200}
    submitting = asyncio.create_task(world.submits(PROD, proposal_id="p1", parameters=long))
    await begun.wait()
    assert (await world.workflow.approve("p1", world.sender("ben"))).done
    world.notifier.lost = frozenset({"ben"})

    judging.set()
    await submitting
    await world.keeps_house()

    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    assert (await world.proposal("p1")).opener is None
    assert world.tool("production-deploy").verbs() == []


async def test_nothing_is_executed_in_the_name_of_somebody_who_does_not_count(
    world: World,
) -> None:
    people = dict(world.workflow.policy.people)
    await world.adopts(people=people | {"dee": replace(people["ben"], id="dee")})
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    for person, lost in (("ana", ""), ("ben", "ana"), ("dee", "ana ben")):
        world.notifier.lost = frozenset(lost.split())
        await world.approves(person, proposal_id)
    assert (await world.proposal(proposal_id)).opener is None

    world.notifier.lost = frozenset({"dee"})
    await world.approves("ana", proposal_id)

    assert [entry["actor"]["id"] for entry in await world.audit("execute")] == ["ben"]


async def test_who_opened_it_and_may_not_any_more_opens_nothing_by_others_approvals(
    world: World,
) -> None:
    people = dict(world.workflow.policy.people)
    olga = replace(people["olga"], groups=frozenset({"approvers"}))
    await world.adopts(solo_operator=True, people=people | {"olga": olga})
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("olga", proposal_id)
    await world.approves("ben", proposal_id)

    await world.adopts(solo_operator=False)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert [entry["actor"]["id"] for entry in await world.audit("execute")] == ["ben"]


async def test_who_takes_an_approval_back_is_not_named_where_others_keep_it_open(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("ben", proposal_id)
    await world.approves("ana", proposal_id)

    await world.workflow.take_back(proposal_id, world.sender("ben"))
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert [entry["actor"]["id"] for entry in await world.audit("execute")] == ["ana"]


async def test_who_cannot_be_read_while_a_new_policy_is_checked_keeps_what_was_approved(
    world: World,
) -> None:
    """The approval was confirmed when it was given; not knowing is not leaving."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("ben", proposal_id)
    world.notifier.unread = frozenset({"ana", "ben"})

    await world.adopts(solo_operator=True)
    world.notifier.unread = frozenset()
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert [entry["actor"]["id"] for entry in await world.audit("execute")] == ["ben"]


async def test_nobody_is_asked_for_where_a_window_is_checked_under_a_new_policy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ben", proposal_id)
    asked: list[frozenset[str]] = []

    async def lost_members(people: Iterable[str], *, only_certain: bool) -> frozenset[str]:
        asked.append(frozenset(people))
        return frozenset()

    monkeypatch.setattr(world.notifier, "lost_members", lost_members)
    await world.adopts(solo_operator=True)

    assert (await world.proposal(proposal_id)).state is State.EXECUTING
    assert asked == []
