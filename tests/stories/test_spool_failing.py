"""A stop that nobody can keep lets go, and a failing spool holds up neither the bot nor others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lifecycle.proposal import ActorKind
from lifecycle.state import State
from lifecycle.stops.lost_stops import tell_of_lost_stops
from tests.builders import MAIL, PROD
from tests.fakes.spool import MemorySpool
from tests.roads import trail_of
from tests.stage import in_memory
from tests.stories.spooling import MAILER, regrouped, stopped_in_vain
from tests.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with in_memory(tmp_path) as stage:
        yield stage


async def withdrawn(world: World, proposal_id: str) -> None:
    await world.workflow.withdraw(proposal_id, world.sender("leila"))


@pytest.mark.parametrize(
    ("meanwhile", "told", "state"),
    [
        (withdrawn, [], State.REJECTED),
        (regrouped, ["Only the group approvers"], State.SENTINEL_APPROVED),
    ],
)
async def test_a_stop_whose_promise_cannot_be_kept_is_told_of_and_lets_go(
    world: World, meanwhile: Any, told: list[str], state: State
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await stopped_in_vain(world, "ben", proposal_id)
    await meanwhile(world, proposal_id)

    await world.keeps_house()

    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    words = [m.body["text"] for m in waiting if "has no effect" in m.body.get("text", "")]
    assert len(words) == len(told)
    assert all(part in said for part, said in zip(told, words, strict=True))
    assert (await world.proposal(proposal_id)).state is state
    assert len(await world.audit("ignored")) == 1
    assert (world.spool.stops, world.workflow.world.held) == ([], set())


async def test_a_stop_and_a_roll_back_of_another_take_it_back_once(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await stopped_in_vain(world, "ben", proposal_id)
    await world.rejects("dee", proposal_id)

    await world.keeps_house()

    ended = await world.proposal(proposal_id)
    assert world.tool(MAILER).verbs() == ["execute", "roll_back"]
    assert str(ended.decided_by) == "person dee"
    assert (world.spool.stops, world.workflow.world.held) == ([], set())


class Unreadable(MemorySpool):
    """A spool on a disk that is gone."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        raise OSError(5, "Input/output error")

    def kept(self) -> Sequence[Mapping[str, Any]]:
        raise OSError(5, "Input/output error")


async def test_a_stop_in_memory_is_carried_out_although_the_spool_is_gone(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    world.spool = world.workflow.world.spool = Unreadable()
    reply = await stopped_in_vain(world, "ben", proposal_id)

    await world.keeps_house()
    await world.keeps_house()

    assert "in its memory alone" in reply.words
    assert "free the disk, or mend what stands in its way" in reply.words  # a closed folder
    assert (await world.proposal(proposal_id)).reason == "rejected_by_person"
    assert world.workflow.world.unspooled == []
    assert await world.audit("ignored") == []


async def test_a_stop_in_memory_with_which_the_bot_ends_is_said_to_be_lost_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever gave it was told that it is in memory alone; who ended the bot was told nothing."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    world.spool = world.workflow.world.spool = Unreadable()
    await stopped_in_vain(world, "ben", proposal_id)

    await world.workflow.shut_down(0)
    for _ in range(2):
        tell_of_lost_stops(world.workflow.world)

    lost = [each.message for each in caplog.records if "is lost with this process" in each.message]
    assert lost == [
        f"the stop of {proposal_id!r} by person ben could be written nowhere and is lost with this "
        "process: give it again after the next start"
    ]


async def test_a_stop_that_the_spool_takes_at_the_end_is_not_said_to_be_lost(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    kept, world.workflow.world.spool = world.spool, Unreadable()
    await stopped_in_vain(world, "ben", proposal_id)
    world.workflow.world.spool = kept

    await world.workflow.shut_down(0)
    tell_of_lost_stops(world.workflow.world)

    assert [stop["proposal_id"] for stop in kept.stops] == [proposal_id]
    assert "lost" not in caplog.text


class Unforgetting(MemorySpool):
    """A spool whose file cannot be replaced: its folder is read-only, or full."""

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        raise OSError(30, "Read-only file system")


async def test_a_spool_that_cannot_forget_stops_neither_the_bot_nor_its_start(
    world: World,
) -> None:
    first, second = [(await world.submits(base)).proposal_id or "" for base in (MAIL, PROD)]
    await world.approves("ana", first)
    world.spool = world.workflow.world.spool = Unforgetting()
    await stopped_in_vain(world, "ben", first)
    for _ in range(3):
        await world.keeps_house()
    await stopped_in_vain(world, "ben", second)
    entries = len(await world.store.read(lambda tx: trail_of(tx, first)))

    await world.restarts()
    for _ in range(3):
        await world.keeps_house()

    assert world.tool(MAILER).verbs() == ["execute", "roll_back"]
    assert (await world.proposal(second)).reason == "rejected_by_person"
    assert len(await world.store.read(lambda tx: trail_of(tx, first))) == entries
    assert await world.audit("ignored") == []
    assert world.workflow.world.held == set()
    assert len(world.spool.stops) == 2


async def test_a_refused_stop_that_cannot_be_forgotten_stops_nothing_later(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    people = dict(world.workflow.policy.people)
    world.spool = world.workflow.world.spool = Unforgetting()
    await stopped_in_vain(world, "ben", proposal_id)
    await regrouped(world, proposal_id)
    await world.keeps_house()
    await world.adopts(people=people)

    await world.restarts()
    await world.keeps_house()

    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED
    assert world.workflow.world.held == set()
    assert len(await world.audit("ignored")) == 1


async def test_a_line_that_nobody_can_carry_out_holds_its_proposal_and_no_other(
    world: World,
) -> None:
    first, second = [(await world.submits(base)).proposal_id or "" for base in (MAIL, PROD)]
    line = {"surface": "terminal", "kind": ActorKind.PERSON.value, "id": "ben"}
    world.spool.keep(line | {"proposal_id": first, "reason": None})
    world.spool.keep(line | {"proposal_id": second, "reason": "stop"})

    await world.restarts()

    assert (await world.proposal(second)).reason == "rejected_by_person"
    assert world.workflow.world.held == {first}
    assert [stop["proposal_id"] for stop in world.spool.stops] == [first]


class Nearly(MemorySpool):
    """A spool on a disk with room for one stop."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        if self.stops:
            raise OSError(28, "No space left on device")
        super().keep(stop)

    def keep_all(self, stops: Sequence[Mapping[str, Any]]) -> None:
        if len(stops) > 1:
            raise OSError(28, "No space left on device")
        super().keep_all(stops)


async def test_of_stops_that_do_not_all_fit_at_the_end_as_many_are_kept_as_do(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    given = [(await world.submits(each)).proposal_id or "" for each in (PROD, MAIL)]
    world.workflow.world.spool = Unreadable()
    for proposal_id in given:
        await stopped_in_vain(world, "ben", proposal_id)
    world.workflow.world.spool = kept = Nearly()
    await world.workflow.shut_down(0)
    tell_of_lost_stops(world.workflow.world)

    assert [stop["proposal_id"] for stop in kept.stops] == given[:1]
    assert f"the stop of {given[1]!r} by person ben could be written nowhere" in caplog.text
    assert f"the stop of {given[0]!r} by person ben could be written nowhere" not in caplog.text
