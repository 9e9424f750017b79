"""A thousand submitters at once: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.doors import served_doors
from bot.intake.http.protocol import most_connections
from bot.storage.opening import open_store
from lifecycle.policy import Limits, Safety
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import MAIL, a_document, a_policy
from tests.world import a_world

CROWD = 1000


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage over SQLite, with limits out of the way."""
    store = await open_store("sqlite:///signoff.db", tmp_path)
    many = dict.fromkeys(Safety, 100000)
    known = {name: replace(each, open_limit=100_000) for name, each in agents().items()}
    stage = a_world(store, a_policy(agents=known, limits=replace(Limits(), rate=many)))
    await stage.workflow.start()
    async with served_doors(stage.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        yield Outside(url, stage)
    await stage.workflow.shut_down(1)
    await store.close()


async def submitted(port: int, number: int) -> tuple[int, float]:
    """Submit one mail over a connection of one's own; return the status and the seconds."""
    to = {"to": f"{number}@shop.example", "subject": "x", "body": "y"}
    document = a_document(MAIL, proposal_id=f"m{number}", parameters=to)
    body = json.dumps(document).encode()
    head = (
        "POST /v1/proposals HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer leila-token\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), time.perf_counter() - begun


async def test_a_thousand_at_once_are_all_kept_once(outside: Outside) -> None:
    crowd = min(CROWD, most_connections() // 2)  # so many messages one agent may have under way
    port = int(outside.url.rpartition(":")[2])
    begun = time.perf_counter()

    # Each comes twice: the second finds the first.
    came = [submitted(port, number) for number in (*range(crowd // 2), *range(crowd // 2))]
    answers = await asyncio.gather(*came)

    took = sorted(seconds for _, seconds in answers)
    statuses = [status for status, _ in answers]
    assert statuses.count(202) == statuses.count(200) == crowd // 2, set(statuses)
    stored = await outside.world.store.read(lambda tx: tx.proposals.count_waiting())
    assert stored == crowd // 2
    trail = await outside.world.audit("submitted")
    assert len({entry["proposal_id"] for entry in trail}) == len(trail) == crowd // 2
    print(  # noqa: T201 - a figure for whoever looks
        f"{crowd} at once in {time.perf_counter() - begun:.1f} s, "
        f"p50 {took[crowd // 2]:.2f} s, p99 {took[int(crowd * 0.99)]:.2f} s"
    )
    assert took[int(crowd * 0.99)] < 30
