"""What an inbox keeps is no burden in a flood, and is worked in its order after a start."""

from __future__ import annotations

import json
from functools import partial

from bot.chat.hearing.kept_events import KeptEvents
from lifecycle.ports import Transaction
from tests.bot.chat.working import Working


async def test_a_long_event_that_waits_is_not_written_again_when_another_comes() -> None:
    working = Working()
    await working.takes(1, 2, 3)
    assert len(json.dumps(await working.flag("inbox:slack"))) < 500

    working.may.set()
    await working.inbox.settled()
    assert {payload["text"][0] for _, payload in working.worked} == {"1", "2", "3"}
    assert await working.flag("inbox:slack") == {}


async def test_what_is_written_for_an_event_does_not_grow_with_those_that_wait() -> None:
    """With four thousand that waited each took a tenth of a second."""
    working = Working()
    last = 500
    for number in range(last):
        assert await working.inbox.take(f"e{number}", f"p:{number}", {"text": "x"})
    assert len(json.dumps(await working.flag("inbox:slack"))) < 12_000

    await working.inbox.close()
    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == last
    await after.inbox.settled()
    assert {event_id for event_id, _ in after.worked} == {f"e{number}" for number in range(last)}
    assert await after.inbox.kept() == ()


async def test_after_a_flood_a_start_works_what_a_person_said_in_its_order() -> None:
    """A ✅ that was taken off again counted where the two stood on different pages."""
    working = Working()
    for number in range(100):
        lane = "busy" if number < 60 else "p:1"
        assert await working.inbox.take(f"e{number}", lane, {"text": "x"})
    kept = KeptEvents("slack", working.world.workflow.world.ring)
    for number in range(60):  # which makes room on the first page
        await working.world.store.write(partial(kept.drop, event_id=f"e{number}"))
    for number in range(100, 120):
        assert await working.inbox.take(f"e{number}", "p:1", {"text": "x"})

    await working.inbox.close()
    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == 60
    await after.inbox.settled()
    assert [event_id for event_id, _ in after.worked] == [f"e{n}" for n in range(60, 120)]


async def test_what_a_former_version_kept_is_worked_before_what_came_since() -> None:
    working = Working()
    await working.takes(1, 2)

    def without_numbers(tx: Transaction) -> None:
        rows = tx.flags.get("inbox:slack")
        old = {
            event_id: {name: each for name, each in row.items() if name != "number"}
            for event_id, row in rows.items()
        }
        tx.flags.put("inbox:slack", old)
        tx.flags.put("inbox:slack:last", "written over")

    await working.world.store.write(without_numbers)
    await working.takes(3)
    assert await working.inbox.kept() == ("e1", "e2", "e3")
    await working.inbox.close()


async def test_the_place_of_an_event_that_is_done_is_taken_by_the_next() -> None:
    working = Working()
    working.may.set()
    for number in range(5):
        await working.takes(number)
        await working.inbox.settled()
    assert await working.flag("inbox:slack#0") is None
    await working.takes(9)
    assert await working.flag("inbox:slack#1") is None


async def test_what_a_former_process_kept_is_worked_off() -> None:
    working = Working()
    await working.takes(1, 2)
    await working.inbox.close()
    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == 2
    await after.inbox.settled()
    assert sorted(event_id for event_id, _ in after.worked) == ["e1", "e2"]
    assert await after.flag("inbox:slack") == {}
    assert not await after.inbox.take("e1", "p:1", {"text": "again"})
