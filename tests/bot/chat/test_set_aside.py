"""What a refused row keeps from being delivered is tried again, and told as long as it fails."""

from __future__ import annotations

from bot.chat.showing.set_aside import SetAside
from bot.storage.memory import MemoryStore
from lifecycle.ports import RowRefused
from lifecycle.records import Message
from tests.builders import NOW_MS
from tests.world import a_world


def a_message(key: str) -> Message:
    return Message(key, "slack", "", "announcement", {"text": key}, NOW_MS)


async def test_the_all_clear_waits_until_no_message_fails_any_more() -> None:
    """Announcements are about no proposal: the same words stand for all of them."""
    world = a_world(MemoryStore())
    aside, failing = SetAside(world.workflow.world, "slack"), world.workflow.world.troubles.failing
    first, second = a_message("first"), a_message("second")
    for _ in range(8):
        for each in (first, second):
            if not aside.holds(each):
                aside.put(each, RowRefused("no"))
        world.clock.advance(10)
    (words,) = failing.words()
    assert words.startswith("Showing a message on slack failed")

    aside.delivered(first)
    assert len(failing.words()) == 1
    aside.delivered(second)
    assert failing.words() == ()
