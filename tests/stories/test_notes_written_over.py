"""Notes over which somebody wrote: no bot is dead for them, and what was frozen stays so."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.commands.status import status_reply
from bot.chat.hearing.closed_unread import ClosedUnread
from bot.chat.hearing.kept_events import KeptEvents, Standing
from bot.surfaces_kept import kept_health, served_names
from lifecycle.records import Card
from lifecycle.state import State
from tests.builders import MAIL
from tests.stories.resting_on_evidence import SEND
from tests.world import World

WRITTEN = [
    *("7", "true", "no JSON", '"x"', "[7]", '{"a": 7}', '{"terminal": 7}'),
    *("9999999999999999", '{"at_ms": 9999999999999999, "seq": "x"}'),
    *(' {"\\ud800": 7}', " " + "[" * 3_000),
]
NOTES = (
    "anchor",
    "closed_unread",
    "evidence_to_judge",
    "policy",
    "restored",
    "standings",
)


def written_over(forged: Any, name: str, value: str) -> None:
    forged(f"INSERT OR REPLACE INTO flags (name, value) VALUES ('{name}', '{value}')")


@pytest.mark.parametrize("name", NOTES)
@pytest.mark.parametrize("value", WRITTEN)
async def test_windows_close_and_evidence_counts_after_a_restart(
    on_disk: World, forged: Any, name: str, value: str
) -> None:
    world = on_disk
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    written_over(forged, name, value)

    await world.restarts()
    await world.workflow.anchor()
    await world.observes(False)
    await ClosedUnread(world.workflow.world).note([Card("m1", "terminal", 1, message_ids=("1",))])
    await world.passes(minutes=16)

    assert (await world.proposal("m1")).state is State.COMPLETED
    assert world.tool(SEND).verbs() == ["execute", "commit"]


@pytest.mark.parametrize("value", WRITTEN)
async def test_fingerprints_of_a_policy_that_nobody_can_read_are_none(
    on_disk: World, forged: Any, value: str
) -> None:
    world = on_disk
    await world.adopts()
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    forged(f"UPDATE flags SET value = '{value}' WHERE name LIKE 'standing:%'")
    await world.adopts()
    await world.workflow.thaw(world.sender("ana"))
    await world.approves("ana", "m1")
    await world.passes(seconds=1)

    assert (await world.proposal("m1")).state is State.EXECUTING


@pytest.mark.parametrize("value", WRITTEN)
@pytest.mark.parametrize("name", ["freeze", "stops_heard"])
async def test_what_stopped_everything_stops_it_still(
    on_disk: World, forged: Any, name: str, value: str
) -> None:
    world = on_disk
    await world.submits(MAIL, proposal_id="m1")
    await world.approves("ana", "m1")
    written_over(forged, name, value)
    await world.restarts()
    await world.passes(minutes=16)

    assert (await world.proposal("m1")).state is State.EXECUTING
    assert world.tool(SEND).verbs() == ["execute"]
    now_ms, policy = world.clock.now_ms(), world.workflow.policy
    told = await world.store.read(lambda tx: status_reply(tx, policy, now_ms))
    assert ("FROZEN" in str(told.blocks)) is (name == "freeze")
    await world.passes(minutes=2)
    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.passes(minutes=2)
    assert (await world.proposal("m1")).state is State.COMPLETED


@pytest.mark.parametrize("value", WRITTEN)
async def test_what_stood_in_a_copy_is_rejected_and_expires_although_nobody_knows_which_it_was(
    on_disk: World, forged: Any, value: str
) -> None:
    world = on_disk
    await world.submits(MAIL, proposal_id="m1")
    written_over(forged, "restored", value)
    await world.restarts()
    refused = await world.submits(MAIL, proposal_id="m2", parameters={"to": "a@evil.example"})
    await world.passes(minutes=60 * 24 * 8)

    assert refused.state == "rejected"
    assert (await world.proposal("m1")).state is State.REJECTED


@pytest.mark.parametrize("value", WRITTEN)
async def test_how_the_surfaces_stood_is_told_of_what_a_bot_wrote_alone(
    on_disk: World, forged: Any, value: str
) -> None:
    written_over(forged, "surfaces", value)

    found = await on_disk.store.read(lambda tx: (kept_health(tx), served_names(tx)))
    assert found == (None, ())


@pytest.mark.parametrize("value", WRITTEN)
async def test_what_an_inbox_kept_is_as_nobody_said_it(
    on_disk: World, forged: Any, value: str
) -> None:
    written_over(forged, "inbox:discord", value)
    kept = KeptEvents("discord", on_disk.workflow.world.ring)

    found = await on_disk.store.read(lambda tx: kept.all(tx).values())
    assert {each.standing for each in found} == {Standing.CHANGED}
