"""A disk turned a letter into bytes that are no UTF-8: its row stands still, and no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.chat.showing.delivery import Delivery
from bot.views import pending_json
from lifecycle.state import State
from tests.builders import MAIL, a_document
from tests.fakes.surface import FakeSurface
from tests.stories.forging import problems
from tests.world import World

LETTER = "CAST(X'c3' AS TEXT)"
COLUMNS = (
    *("proposals.proposal_id", "proposals.explanation", "proposals.rest", "proposals.deadline_ms"),
    *("reviews.person", "reviews.reason", "cards.why", "cards.message_ids", "permits.token"),
    *("outbox.body", "outbox.recipient", "evidence.payload", "tasks.reason", "flags.value"),
)


@pytest.fixture
async def world(on_disk: World) -> World:
    """A bot with two mails in their windows, something of every table, and much to tell."""
    world = on_disk
    await world.observes(True)
    for number in (1, 2):
        target = MAIL["target"] | {"resource_id": f"of-{number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", target=target, task_id=f"t{number}")
        await world.approves("ana", f"p{number}")
    await world.submits(MAIL, proposal_id="p3", task_id="t3")
    await world.rejects("ana", "p3")
    for _ in range(2):
        await world.workflow.freeze("look", world.sender("ana"))
        await world.workflow.thaw(world.sender("ana"))
        world.clock.advance(1)
    return world


@pytest.mark.parametrize("column", COLUMNS)
async def test_a_letter_that_is_none_holds_up_nothing_beside_its_row(
    world: World, forged: Any, column: str
) -> None:
    """No window closed any more, no message arrived, and no list could be read."""
    table, name = column.split(".")
    forged(f"UPDATE {table} SET {name} = {LETTER} WHERE rowid = 1")
    surface = FakeSurface("terminal")

    await world.restarts()
    await Delivery(world.workflow.world, surface).drain()
    await world.passes(minutes=16)
    again = {"proposal_id": "p4", "target": MAIL["target"] | {"resource_id": "of-4"}}
    document = a_document(MAIL, ts_ms=world.clock.now_ms(), **again)
    answer = await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    listed = await world.store.read(lambda tx: pending_json(tx, world.clock.now_ms()))

    assert (await world.proposal("p2")).state is State.COMPLETED
    assert sum("Thawed" in str(message.body) for message in surface.said) >= 1
    assert answer.proposal_id == "p4"
    assert "p4" in [each["proposal_id"] for each in listed["proposals"]]
    await problems(world)  # it tells what it finds, whatever that is


@pytest.mark.parametrize("column", ["proposals.explanation", "reviews.reason", "evidence.payload"])
async def test_a_letter_that_is_none_is_named(world: World, forged: Any, column: str) -> None:
    table, name = column.split(".")
    forged(f"UPDATE {table} SET {name} = {LETTER} WHERE rowid = 1")

    assert len(await problems(world)) >= 1


async def test_a_list_names_what_waits_although_its_reviews_cannot_be_read(
    world: World, forged: Any
) -> None:
    """One review hid all that waits from `signoff pending --json`."""
    forged("UPDATE reviews SET reason = X'00ff' WHERE proposal_id = 'p1'")

    found = await world.store.read(lambda tx: pending_json(tx, world.clock.now_ms()))

    first, second = found["proposals"]
    assert (first["proposal_id"], first["reviews"]) == ("p1", [])
    assert "cannot be read" in first["unreadable"]
    assert [each["person"] for each in second["reviews"]] == ["ana"]
    assert "unreadable" not in second


@pytest.mark.parametrize(
    ("column", "ids"),
    [("proposals.proposal_id", ("p1", "p2")), ("evidence.evidence_id", ("e1", "e2"))],
    ids=["proposals", "evidence"],
)
async def test_an_id_that_is_no_utf8_hides_nothing_behind_it_from_verification(
    world: World, forged: Any, monkeypatch: pytest.MonkeyPatch, column: str, ids: tuple[str, str]
) -> None:
    """A row that no entry tells of was not named behind such an id at the end of a page."""
    for page in ("bot.trail._PAGE", "lifecycle.agreeing.evidence._PAGE"):
        monkeypatch.setattr(page, 1)
    await world.observes(True, "e2")
    (table, name), (first, second) = column.split("."), ids
    forged(f"UPDATE {table} SET {name} = CAST(X'61c3' AS TEXT) WHERE {name} = '{first}'")
    forged(f"UPDATE {table} SET {name} = 'untold' WHERE {name} = '{second}'")

    found = await problems(world)

    assert any("untold" in each for each in found)
    assert any(r"b'a\xc3'" in each for each in found)
