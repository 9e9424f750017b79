"""A stop that was heard and that nobody works: people are called, whatever else is ill."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from lifecycle.errors import ReviewRefused
from lifecycle.heard import HEARD, kept_stops
from lifecycle.people.acts import Act
from lifecycle.people.letting_go import release_stops
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Outcome
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.clock import NOON_MS, FakeClock
from tests.stories.hearing import SEND, WINDOW_S, cut_off, heard
from tests.world import World


async def in_window(world: World) -> None:
    await world.submits(MAIL)
    await world.approves("ana", "p1")


def its_card_is_in(message_id: str, tx: Transaction) -> None:
    (card,) = tx.cards.of("p1")
    tx.cards.put(replace(card, message_ids=(*card.message_ids, message_id)))


async def a_while_passes(world: World) -> None:
    for _ in range(100):
        await world.passes(seconds=1)


async def is_overdue(world: World) -> None:
    called = await world.proposal("p1")
    assert called.state is State.EXECUTING
    assert called.attention is Attention.OVERDUE
    assert HEARD in called.attention_why


async def test_people_are_called_also_where_no_card_can_be_read(world: World) -> None:
    await in_window(world)
    await heard(world, proposal_id="p1")
    world.notifier.readable = False
    world.clock.advance(WINDOW_S)
    await a_while_passes(world)
    await is_overdue(world)


async def test_people_are_called_to_a_stop_that_came_before_its_card_was_written_down(
    world: World,
) -> None:
    await in_window(world)
    stop = await heard(world, message_id="m-2")
    assert stop.unplaced
    await world.store.write(partial(its_card_is_in, "m-2"))
    world.clock.advance(WINDOW_S)
    await a_while_passes(world)
    await is_overdue(world)
    assert (await world.workflow.retry("p1", world.sender("ana"))).done
    await world.passes(seconds=61)
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_whoever_lets_go_of_a_stop_is_not_told_that_it_is_waited_for(world: World) -> None:
    await world.submits(PROD)
    await heard(world, proposal_id="p1")
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).waiting_for == HEARD
    world.clock.advance(61)

    reply = await world.workflow.retry("p1", world.sender("ana"))

    assert reply.done
    assert "It goes on over the stop" in reply.words
    assert HEARD not in reply.words
    await a_while_passes(world)
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_whoever_lets_go_of_a_stop_is_told_of_another_that_came_meanwhile(
    world: World,
) -> None:
    await world.submits(PROD)
    await heard(world, proposal_id="p1")
    await world.approves("ana", "p1")
    world.clock.advance(61)
    await heard(world, "slack", proposal_id="p1")

    reply = await world.workflow.retry("p1", world.sender("ana"))

    assert reply.done
    assert reply.words.endswith(f"It waits for: {HEARD}.")


async def test_a_retry_that_let_go_of_a_stop_is_heard_once_and_repeats_no_call(
    world: World,
) -> None:
    """Delivered again, it would be of the call whose outcome nobody knows."""
    await cut_off(world)
    await heard(world, proposal_id="p1")
    await world.restarts()
    await a_while_passes(world)
    ana = world.sender("ana", "event-ana")
    assert (await world.workflow.retry("p1", ana)).done
    assert "stop_let_go" in await world.trail("p1")

    again = await world.workflow.retry("p1", ana)

    assert again.code == "duplicate_event"
    assert world.tool(SEND).verbs() == ["execute"]


async def test_nobody_is_said_to_have_let_go_of_a_stop_that_was_worked_meanwhile(
    world: World,
) -> None:
    await in_window(world)
    act = Act("p1", world.sender("ana"))

    with pytest.raises(ReviewRefused, match="waits any more"):
        await world.store.write(lambda tx: release_stops(tx, world.workflow.world.moment(), act))

    assert "stop_let_go" not in await world.trail("p1")


async def test_a_clock_that_was_set_back_lets_a_stop_hold_no_longer_than_others(
    world: World,
) -> None:
    await heard(world, message_id="m-x")
    ours = world.workflow.world
    ours.clock = world.clock = FakeClock(NOON_MS - 86_400_000)
    await world.restarts()
    await in_window(world)
    await world.passes(seconds=11)
    assert world.tool(SEND).verbs() == ["execute"]


async def test_a_thaw_that_lets_go_of_a_freeze_says_so_in_the_trail(world: World) -> None:
    stop = await heard(world)
    await world.passes(seconds=61)
    reply = await world.workflow.thaw(world.sender("ana"))
    assert reply.done
    assert "let go" in reply.words
    (entry,) = await world.audit("stop_let_go")
    assert entry["details"]["stops"] == [stop.key]
    assert await world.store.read(kept_stops) == []


async def test_a_call_that_was_cut_off_does_not_wait_for_ever_for_such_a_stop(world: World) -> None:
    await cut_off(world)
    await heard(world, proposal_id="p1")
    await world.restarts()
    await a_while_passes(world)
    left = await world.proposal("p1")
    assert left.attention is Attention.OUTCOME_UNKNOWN
    assert left.execution is not None
    assert left.execution.outcome is Outcome.UNKNOWN
    assert world.tool(SEND).verbs() == ["execute"]


async def test_what_waited_and_ended_is_remembered_no_longer(world: World) -> None:
    await world.workflow.freeze("x", world.sender("ana"))
    await heard(world, proposal_id="p1")
    await in_window(world)
    await world.passes(seconds=6)
    await world.rejects("ben", "p1")
    await world.passes(seconds=6)
    assert world.workflow.keeper.look_again_ms == {}


UNTOLD: dict[str, object] = {
    "a number": {"discord:e1": 5},
    "nothing": {"discord:e1": {}},
    "no time": {"discord:e1": {"surface": "discord", "at_ms": "x"}},
    "no id": {"discord:e1": {"surface": "discord", "at_ms": 1, "proposal_id": [1]}},
    "a list of all": ["discord:e1"],
    "a number for all": 5,
}


@pytest.mark.parametrize("rows", UNTOLD.values(), ids=UNTOLD)
async def test_a_kept_stop_that_tells_nothing_holds_everything_until_an_operator_lets_go(
    world: World, rows: object
) -> None:
    """Somebody wrote over it: no bot began with that database any more."""
    await world.submits(PROD)
    await world.store.write(lambda tx: tx.flags.put("stops_heard", rows))

    await world.restarts()
    await world.approves("ana", "p1")
    await world.keeps_house()
    held = (await world.proposal("p1")).state
    reply = await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=6)

    assert held is State.SENTINEL_APPROVED
    assert "let go of" in reply.words
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert await world.store.read(kept_stops) == []
