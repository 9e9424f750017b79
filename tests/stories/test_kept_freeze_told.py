"""What is said of a freeze that waits for the store is true, and what it advises can be done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.commands.commands import Commands
from bot.storage.spool import FileSpool
from lifecycle.heard import HeardStop
from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from lifecycle.stops.spooling import held_words
from tests.builders import MAIL
from tests.fakes.spool import MemorySpool
from tests.stage import in_memory
from tests.stories.spooling import MAILER, nothing_can_be_stored
from tests.stories.test_kept_freeze import frozen_entries, frozen_in_vain, refuses
from tests.world import World

EVERYTHING = "Held, until a stop can be carried out: everything (freeze)"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with in_memory(tmp_path) as stage:
        yield stage


async def announced(world: World) -> list[str]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [message.body["text"] for message in told if "text" in message.body]


async def frozen_after(world: World, seconds: float, event_id: str | None = None) -> None:
    """Type a freeze that the store refuses so much later, as one that another program locked."""

    async def refuses_late(_unit: Any) -> Any:
        world.clock.advance(seconds)
        raise StoreUnavailable("database is locked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "write", refuses_late)
        await world.workflow.freeze("incident 7", world.sender("ana", event_id))


async def test_it_was_given_when_it_was_said_and_not_when_the_store_had_refused_it(
    world: World,
) -> None:
    await frozen_after(world, 5)
    await world.workflow.recover()

    (told,) = await frozen_entries(world)
    assert told["given_at"] == "2026-03-02T12:00:00.000Z"


async def test_it_was_given_when_its_surface_heard_it(world: World) -> None:
    heard = HeardStop("terminal:Ev1", "terminal", world.clock.now_ms())
    world.workflow.world.heard.add(heard)
    world.clock.advance(7)
    await frozen_after(world, 5, "Ev1")
    await world.workflow.recover()

    (told,) = await frozen_entries(world)
    assert told["given_at"] == "2026-03-02T12:00:00.000Z"


async def test_each_of_two_that_waited_is_announced(world: World) -> None:
    people = dict(world.workflow.policy.people)
    ben = people["ben"]
    both = people | {"ben": replace(ben, groups=ben.groups | {"operators"})}
    await world.adopts(people=both)
    await frozen_in_vain(world, "ana", "incident 7")
    await frozen_in_vain(world, "ben", "incident 8")
    await world.workflow.recover()

    frozen = [words for words in await announced(world) if words.startswith("Frozen by")]
    assert [words.split(".")[0] for words in frozen] == [
        "Frozen by ana: incident 7",
        "Frozen by ben: incident 8",
    ]


class UnreadableSpool(MemorySpool):
    """A spool that takes a stop, and shows none."""

    def kept(self) -> Sequence[Mapping[str, Any]]:
        raise OSError(5, "Input/output error")


async def test_a_thaw_lifts_no_freeze_that_stands_where_it_cannot_be_read(world: World) -> None:
    world.workflow.world.spool = UnreadableSpool()
    await frozen_in_vain(world)

    reply = await world.workflow.thaw(world.sender("ana"))

    assert (reply.code, "everything stands still" in reply.words) == ("audit_unavailable", True)
    assert held_words(world.workflow.world) == EVERYTHING


async def test_a_stop_of_no_proposal_is_not_told_of_as_a_freeze(world: World) -> None:
    async def unread(_view: Any) -> Any:
        raise StoreUnavailable("database is locked")

    with nothing_can_be_stored(world), pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "read", unread)
        await world.workflow.reject("", world.sender("ben"), "never do this")
    await world.workflow.recover()

    (told,) = [words for words in await announced(world) if "has no effect" in words]
    assert told.startswith("The stop of '' by person ben")


async def overdue_over_a_freeze(world: World, folder: Path) -> str:
    """Let a window pass while the row of a freeze is refused, until people are called."""
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    refuses(folder)
    await world.workflow.freeze("incident 7", world.sender("ana"))
    for _ in range(12):
        await world.passes(minutes=2)
    return proposal_id


async def test_a_window_that_stays_open_over_it_tells_who_may_let_go_of_it(
    on_disk: World, tmp_path: Path
) -> None:
    proposal_id = await overdue_over_a_freeze(on_disk, tmp_path)
    (told,) = [words for words in await announced(on_disk) if "is overdue" in words]
    retried = await on_disk.workflow.retry(proposal_id, on_disk.sender("ana"))
    thawed = await on_disk.workflow.thaw(on_disk.sender("ana"))
    for _ in range(3):
        await on_disk.passes(minutes=2)

    assert told.endswith(f"roll-back {proposal_id} <reason>, or let go of that stop: thaw.")
    assert "thaw lets go of it" in retried.words
    assert thawed.done
    assert (await on_disk.proposal(proposal_id)).state is State.COMPLETED
    assert on_disk.tool(MAILER).verbs() == ["execute", "commit"]


async def test_where_a_stop_of_its_own_waits_too_both_ways_are_told(
    on_disk: World, tmp_path: Path
) -> None:
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    own = HeardStop("slack:Ev1", "slack", on_disk.clock.now_ms(), proposal_id)
    on_disk.workflow.world.heard.add(own)
    await on_disk.approves("ana", proposal_id)
    on_disk.workflow.world.heard.drop(own.key)
    await on_disk.workflow.open_ready()
    await on_disk.workflow.idle()
    on_disk.workflow.world.heard.add(own)
    refuses(tmp_path)
    await on_disk.workflow.freeze("incident 7", on_disk.sender("ana"))
    for _ in range(12):
        await on_disk.passes(minutes=2)

    (told,) = [words for words in await announced(on_disk) if "is overdue" in words]
    assert told.endswith(f"let go of that stop: retry {proposal_id}, and of a freeze: thaw.")


async def test_a_line_that_no_record_can_hold_holds_everything_until_a_thaw(
    world: World, tmp_path: Path
) -> None:
    line = r' {"proposal_id": "", "surface": "x", "event_id": "\ud800", "freezes": true}'
    (tmp_path / "spool.jsonl").write_text(f"{line}\n")
    world.workflow.world.spool = FileSpool(tmp_path / "spool.jsonl")
    await world.restarts()
    held = held_words(world.workflow.world)
    world.clock.advance(61)

    reply = await world.workflow.thaw(world.sender("ana"))

    assert (held, reply.done) == (EVERYTHING, True)
    assert held_words(world.workflow.world) is None
    assert (tmp_path / "spool.jsonl").read_text() == ""


async def test_status_does_not_deny_it(world: World) -> None:
    await frozen_in_vain(world)
    commands = Commands(world.workflow)

    told = await commands.run("status", world.sender("ben"))

    assert "Not frozen" not in told.blocks
    assert any(str(block).startswith("A freeze waits to be put in force") for block in told.blocks)
