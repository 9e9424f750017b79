"""Whose approval counts is asked of the chat at the moment it is counted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lifecycle.state import State
from tests.builders import MAIL
from tests.world import World


async def test_everybody_who_may_count_is_asked_for_before_anything_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    asked: list[frozenset[str]] = []

    async def lost_members(people: Iterable[str], *, surely: bool) -> frozenset[str]:
        assert not surely
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


async def test_who_cannot_be_read_may_stop_and_not_approve(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.notifier.unread = frozenset({"ana", "ben"})
    assert (await world.approves("ana", proposal_id)).code == "not_a_reviewer"

    await world.rejects("ben", proposal_id)

    assert (await world.proposal(proposal_id)).state is State.REJECTED


async def test_who_is_known_to_have_left_may_stop_nothing(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.notifier.lost = frozenset({"ben"})

    assert (await world.rejects("ben", proposal_id)).code == "not_a_reviewer"
