"""Cards that are read before something begins are waited for together, not one after another."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass, field, replace

import pytest

from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.notifier import PlainNotifier
from tests.roads import adopted
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World, an_unhurried_sentinel

MANY = 5


@dataclass
class Slow:
    """A platform that answers once it was asked about so many."""

    needed: int = MANY
    asked: list[str] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def hear(self, proposal_id: str, _but: str) -> bool:
        self.asked.append(proposal_id)
        if len(self.asked) >= self.needed:
            self.answers.set()
        await self.answers.wait()
        return True


async def waiting(world: World) -> list[str]:
    """Approve many that rest on one packet, which is too old by then to let them begin."""
    await world.observes(True)
    await world.workflow.freeze("a look first", world.sender("ana"))
    ids = [f"m{number}" for number in range(MANY)]
    for each in ids:
        parameters = MAIL["parameters"] | {"subject": each}
        await world.submits(
            MAIL, proposal_id=each, parameters=parameters, preconditions=[CONDITION]
        )
        await world.approves("ana", each)
    world.clock.advance(600)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()
    assert world.tool(SEND).calls == []
    return ids


async def test_many_that_wait_for_one_packet_begin_as_soon_as_one_would(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, slow = await waiting(world), Slow()
    monkeypatch.setattr(PlainNotifier, "hear_others", slow.hear)

    await world.observes(True)
    await world.workflow.idle()

    assert slow.asked == ids
    assert [(await world.proposal(each)).state for each in ids] == [State.EXECUTING] * MANY


async def test_many_that_a_new_policy_leaves_approved_begin_as_soon_as_one_would(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, slow = await waiting(world), Slow()
    await world.workflow.freeze("once more", world.sender("ana"))
    await world.observes(True)
    await world.workflow.thaw(world.sender("ana"))
    monkeypatch.setattr(PlainNotifier, "hear_others", slow.hear)

    policy = replace(world.workflow.policy, digest=f"pol1_{'f' * 64}")
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
    await world.workflow.idle()

    assert slow.asked == ids
    assert [(await world.proposal(each)).state for each in ids] == [State.EXECUTING] * MANY


async def test_a_new_policy_asks_no_platform_about_what_has_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    slow = Slow(needed=1)
    monkeypatch.setattr(PlainNotifier, "hear_others", slow.hear)

    await world.adopts()

    assert (await world.proposal("m1")).state is State.EXECUTING
    assert slow.asked == []


@pytest.mark.parametrize("answered", [True, False])
async def test_what_was_heard_a_while_ago_is_heard_anew_before_anything_begins(
    world: World, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """A card that was read while it could not begin yet; a ❌ may have been given on it since."""
    await waiting(world)
    await world.workflow.freeze("once more", world.sender("ana"))
    before, after = Slow(needed=MANY + 1), Slow(needed=MANY + 1)
    monkeypatch.setattr(PlainNotifier, "hear_others", before.hear)
    await world.observes(True)
    if answered:
        before.answers.set()
        await asyncio.sleep(0)
    world.clock.advance(30)
    monkeypatch.setattr(PlainNotifier, "hear_others", after.hear)
    await world.workflow.thaw(world.sender("ana"))

    assert await world.workflow.open_ready() == 0
    after.answers.set()
    assert await world.workflow.open_ready() == MANY
    await world.workflow.idle()


async def test_a_question_that_fails_once_nobody_waits_any_more_leaves_no_stack_trace(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may close before a platform has answered."""
    await waiting(world)
    slow = Slow(needed=MANY + 1)

    async def fail(_: PlainNotifier, proposal_id: str, but: str) -> bool:
        await slow.hear(proposal_id, but)
        raise OSError("the store is closed")

    monkeypatch.setattr(PlainNotifier, "hear_others", fail)
    logged: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: logged.append(told))
    await world.observes(True)
    await world.workflow.idle()
    world.workflow.gatekeeper.heard_first.asked.clear()
    slow.answers.set()
    for _ in range(5):
        await asyncio.sleep(0)
        gc.collect()

    assert logged == []
