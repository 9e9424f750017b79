"""Many windows at once: closed together, each as it stands and not as it was seen."""

from __future__ import annotations

import asyncio

import pytest

from lifecycle.clockwork import cards_seen, closer
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.world import World

_MANY = 7


@pytest.fixture
async def mails(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Seven windows that have passed, closed two a unit and four a page."""
    monkeypatch.setattr(closer, "_BATCH", 2)
    monkeypatch.setattr(closer, "_PAGE", 4)
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    parameters = MAIL["parameters"]
    ids = [
        (await world.submits(MAIL, parameters={**parameters, "subject": f"Mail {n}"})).proposal_id
        or ""
        for n in range(_MANY)
    ]
    world.clock.advance(900)
    return ids


class SlowCard:
    """The card of one window, of which no reading ends before it `answers`."""

    def __init__(self, world: World, proposal_id: str) -> None:
        self.world, self.id = world, proposal_id
        self.answered, self.crossed = asyncio.Event(), False

    async def reading(self, proposal_id: str) -> bool:
        """Read any card; where this one was `crossed` by then, ben's cross is heard."""
        if proposal_id == self.id:
            await self.answered.wait()
            if self.crossed:
                await self.world.rejects("ben", self.id)
        return True

    async def answers(self) -> None:
        """Let it be read, as far as that its answer has come."""
        look = self.world.workflow.closer.cards_seen.begun[self.id]
        self.answered.set()
        await asyncio.wait([look.task])


@pytest.fixture
def slow(world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch) -> SlowCard:
    """The first of the seven, whose card takes long to read."""
    card = SlowCard(world, mails[0])
    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    monkeypatch.setattr(world.notifier, "read_cards", card.reading)
    return card


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


async def test_what_cannot_be_closed_is_tried_once_a_round_however_long_that_takes(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its back-off was over before the round was, which began with it again, and did not end."""
    read: list[str] = []

    async def reading(proposal_id: str) -> bool:
        read.append(proposal_id)
        world.clock.advance(10)
        return False

    monkeypatch.setattr(closer, "_PAGE", 1)
    monkeypatch.setattr(world.notifier, "read_cards", reading)

    assert await world.workflow.close_due() == 0
    assert sorted(read) == sorted(mails)


async def test_one_card_that_takes_long_to_read_holds_up_its_own_window_alone(
    world: World, slow: SlowCard
) -> None:
    """A lookup that hangs held up the whole batch, and the round, for ten seconds."""
    async with asyncio.timeout(5):
        closed = [await world.workflow.close_due() for _ in range(3)]
    assert (await world.proposal(slow.id)).state is State.EXECUTING
    assert "not_closed" not in await world.trail(slow.id)
    await slow.answers()
    closed.append(await world.workflow.close_due())
    await world.workflow.idle()

    assert closed == [_MANY - 1, 0, 0, 1]
    assert (await world.proposal(slow.id)).reason == "window_closed_unopposed"


async def test_a_late_answer_that_nobody_waits_for_any_more_is_not_kept_for_later(
    world: World, slow: SlowCard
) -> None:
    await world.workflow.close_due()
    await world.rejects("ben", slow.id)
    await slow.answers()
    await world.workflow.close_due()

    assert world.workflow.closer.cards_seen.begun == {}
    assert (await world.proposal(slow.id)).state is State.ROLLED_BACK


async def test_a_late_answer_counts_for_the_next_round_and_for_none_long_after_it(
    world: World, slow: SlowCard
) -> None:
    """What was given on the card since, on a platform that was deaf, is not in it."""
    await world.workflow.close_due()
    await slow.answers()
    slow.crossed = True
    world.clock.advance(76)  # as while a round of the job does not end, or the store is away
    await world.workflow.close_due()
    await world.workflow.idle()

    assert (await world.proposal(slow.id)).state is State.ROLLED_BACK


async def test_cards_that_take_long_to_read_hide_no_window_behind_them(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page full of them was read again and again, and what stood behind it stayed open."""
    slow, answers = set(mails[:5]), asyncio.Event()

    async def reading(proposal_id: str) -> bool:
        if proposal_id in slow:
            await answers.wait()
        return True

    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    monkeypatch.setattr(world.notifier, "read_cards", reading)
    async with asyncio.timeout(5):
        closed = [await world.workflow.close_due() for _ in range(2)]
    answers.set()
    await asyncio.wait([each.task for each in world.workflow.closer.cards_seen.begun.values()])
    closed.append(await world.workflow.close_due())

    assert closed == [2, 0, 5]


async def test_no_more_cards_are_read_at_once_than_is_good_and_none_is_forgotten(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = asyncio.Event()

    async def reading(proposal_id: str) -> bool:
        await answers.wait()
        return True

    monkeypatch.setattr(cards_seen, "TOGETHER_S", 0.05)
    monkeypatch.setattr(cards_seen, "_MOST", 3)
    monkeypatch.setattr(world.notifier, "read_cards", reading)
    assert await world.workflow.close_due() == 0
    begun = world.workflow.closer.cards_seen.begun
    under_way = len(begun)
    answers.set()
    await asyncio.wait([each.task for each in begun.values()])

    assert (under_way, await world.workflow.close_due()) == (3, _MANY)


async def test_a_card_that_cannot_be_read_for_a_fault_of_ours_holds_up_its_own_window_alone(
    world: World, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reading(proposal_id: str) -> bool:
        if proposal_id == mails[0]:
            raise KeyError(proposal_id)
        return True

    monkeypatch.setattr(world.notifier, "read_cards", reading)

    assert await world.workflow.close_due() == _MANY - 1
    assert "not_closed" in await world.trail(mails[0])
