"""The numbers after a start over a long trail: what calls for a person waits for none of it."""

from __future__ import annotations

import asyncio

import pytest

from bot.intake.http.metrics import Metrics
from bot.storage.memory import MemoryStore
from lifecycle.audit import AuditEvent
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL
from tests.builders import PROD
from tests.world import World, a_world

#: More than three pages of the trail.
LONG = 1_700
TOLD = 'signoff_proposals{state="sentinel_approved",tier="CONFIRM"} 1.0'
PRESENT = ('signoff_attention{attention="overdue"} 0.0', 'signoff_surface{surface="terminal"} 1.0')


@pytest.fixture(autouse=True)
def a_page_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.intake.http.metrics._PAGES_AT_ONCE", 1)


async def long_trail() -> World:
    """Return a world in which one proposal waits, behind much that was told."""
    world = a_world(MemoryStore())
    at = rfc3339(world.clock.now_ms())

    def unit(tx: Transaction) -> None:
        for _ in range(LONG):
            tx.audit.append(AuditEvent(at=at, kind="refused", actor=SENTINEL, reason="too_large"))

    await world.store.write(unit)
    await world.submits(PROD)
    return world


async def test_what_calls_for_a_person_waits_for_no_trail_and_what_the_trail_tells_is_whole() -> (
    None
):
    """A scrape after a start over a million proposals was answered minutes later, or never."""
    world = await long_trail()
    metrics = Metrics(world.workflow)

    first = (await metrics.text()).decode()
    answers = [first]
    while TOLD not in answers[-1]:
        await asyncio.sleep(0)
        answers.append((await metrics.text()).decode())

    assert all(number in each for each in answers for number in PRESENT)
    assert "signoff_proposals{" not in first
    assert all("too_large" not in each for each in answers[:-1]), "nothing is told half counted"
    assert f'signoff_refused_documents_total{{code="too_large"}} {LONG}.0' in answers[-1]
    assert (await metrics.text()).decode().count(TOLD) == 1


async def test_a_bot_that_stops_reads_no_further_into_the_past() -> None:
    world = await long_trail()
    metrics = Metrics(world.workflow)
    world.workflow.world.ending = True

    for _ in range(2):
        assert "signoff_proposals{" not in (await metrics.text()).decode()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
