"""Somebody writes into the evidence: verification names it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stories.forging import problems
from tests.world import World

#: What somebody makes of a packet, and what is said of it.
FORGED = {
    "payload = '{\"ok\": true}'": "what was observed is not what entry",
    "observed_at_ms = observed_at_ms + 1": "it was not observed or recorded when entry",
    "recorded_at_ms = recorded_at_ms + 1": "it was not observed or recorded when entry",
    "source = 'other'": "it was recorded by other, entry",
    "payload = 'no JSON'": "what is kept of it cannot be read",
}


@pytest.mark.parametrize(("change", "said"), FORGED.items())
async def test_evidence_is_what_its_source_observed(
    on_disk: World, forged: Any, change: str, said: str
) -> None:
    await on_disk.observes(True)
    on_disk.clock.advance(1)
    await on_disk.observes(False)
    await on_disk.observes(0.5, "e2")
    assert await problems(on_disk) == []

    forged(f"UPDATE evidence SET {change} WHERE evidence_id = 'e1'")

    [named] = await problems(on_disk)
    assert named.startswith(f"evidence e1: {said}")


async def test_evidence_that_is_gone_or_that_nobody_recorded_is_named(
    on_disk: World, forged: Any
) -> None:
    await on_disk.observes(True)

    forged("UPDATE evidence SET evidence_id = 'e9'")

    assert [words[:24] for words in await problems(on_disk)] == [
        "evidence e1: it is gone,",
        "evidence e9: no entry te",
    ]


async def test_what_entries_of_older_versions_do_not_tell_is_not_compared(
    on_disk: World, forged: Any
) -> None:
    await on_disk.observes(True)

    forged("UPDATE audit SET details = json_remove(details, '$.payload')")

    # The link is broken by this; of the packet nothing is said.
    assert all(words.startswith("entry ") for words in await problems(on_disk))
