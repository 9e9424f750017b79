"""Many windows at once: closed together, each as it stands and not as it was seen."""

from __future__ import annotations

import asyncio

import pytest

from lifecycle import cards_seen, keeping
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.world import World

_MANY = 7


@pytest.fixture
async def mails(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Seven windows that have passed, closed two a unit and four a page."""
    monkeypatch.setattr(keeping, "_BATCH", 2)
    monkeypatch.setattr(keeping, "_PAGE", 4)
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    parameters = MAIL["parameters"]
    ids = [
        (await world.submits(MAIL, parameters={**parameters, "subject": f"Mail {n}"})).proposal_id
        or ""
        for n in range(_MANY)
    ]
    world.clock.advance(900)
    return ids


async def test_one_round_closes_all_that_is_due(world: World, mails: list[str]) -> None:
    assert await world.workflow.close_due() == _MANY
    await world.workflow.idle()

    ended = [(await world.proposal(each)).reason for each in mails]
    assert ended == ["window_closed_unopposed"] * _MANY
    assert await world.workflow.close_due() == 0


async def test_a_cross_found_on_one_card_spares_the_others_nothing(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cross is heard while the cards are read: what was seen before it is looked at again."""
    stopped = mails[2]

    async def reading(proposal_id: str) -> bool:
        if proposal_id == stopped:
            await world.workflow.reject(stopped, world.sender("ana"), "no")
        return True

    monkeypatch.setattr(world.notifier, "read_cards", reading)
    assert await world.workflow.close_due() == _MANY - 1
    await world.workflow.idle()

    states = {each: (await world.proposal(each)).state for each in mails}
    assert states.pop(stopped) is State.ROLLED_BACK
    assert set(states.values()) == {State.COMPLETED}
    verbs = world.tool("send-email").verbs()
    assert verbs.count("commit") == _MANY - 1
    assert verbs.count("roll_back") == 1


async def test_what_cannot_be_closed_does_not_keep_the_round_going(
    world: World, mails: list[str]
) -> None:
    world.notifier.readable = False

    assert await world.workflow.close_due() == 0
    assert len(set(world.notifier.read)) == len(world.notifier.read)


async def test_one_card_that_takes_long_to_read_holds_up_its_own_window_alone(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lookup that hangs held up the whole batch, and the round, for ten seconds."""
    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    slow, answered = mails[0], asyncio.Event()

    async def reading(proposal_id: str) -> bool:
        if proposal_id == slow:
            await answered.wait()
        return True

    monkeypatch.setattr(world.notifier, "read_cards", reading)
    async with asyncio.timeout(5):
        closed = [await world.workflow.close_due() for _ in range(3)]
    assert (await world.proposal(slow)).state is State.EXECUTING
    assert "not_closed" not in await world.trail(slow)
    answered.set()
    await asyncio.sleep(0)
    closed.append(await world.workflow.close_due())
    await world.workflow.idle()

    assert closed == [_MANY - 1, 0, 0, 1]
    assert (await world.proposal(slow)).reason == "window_closed_unopposed"


async def test_a_late_answer_that_nobody_waits_for_any_more_is_not_kept_for_later(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    slow, answered = mails[0], asyncio.Event()

    async def reading(proposal_id: str) -> bool:
        if proposal_id == slow:
            await answered.wait()
        return True

    monkeypatch.setattr(world.notifier, "read_cards", reading)
    await world.workflow.close_due()
    await world.rejects("ben", slow)
    answered.set()
    await asyncio.sleep(0)
    await world.workflow.close_due()

    assert world.workflow.keeper.cards_seen.begun == {}
    assert (await world.proposal(slow)).state is State.ROLLED_BACK


async def test_a_late_answer_counts_for_the_next_round_and_for_none_long_after_it(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given on the card since, on a platform that was deaf, is not in it."""
    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    slow, answered, crossed = mails[0], asyncio.Event(), False

    async def reading(proposal_id: str) -> bool:
        if proposal_id == slow:
            await answered.wait()
            if crossed:
                await world.rejects("ben", slow)
        return True

    monkeypatch.setattr(world.notifier, "read_cards", reading)
    await world.workflow.close_due()
    answered.set()
    await asyncio.sleep(0.01)
    crossed = True
    world.clock.advance(76)  # as while a round of the job does not end, or the store is away
    await world.workflow.close_due()
    await world.workflow.idle()

    assert (await world.proposal(slow)).state is State.ROLLED_BACK
