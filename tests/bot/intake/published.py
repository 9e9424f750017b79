"""The published AAP client in real time: a bot for it to call, and people who decide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from agentapprovalprotocol import AsyncClient

from bot.clocks.clock import SystemClock
from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from lifecycle.policy import Source
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.workflow import Workflow
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import a_policy
from tests.world import a_world

ARGUMENTS = {"amount": "12.00", "currency": "USD", "lines": [1, 2.5, None, True]}
CALL = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}


@asynccontextmanager
async def in_real_time(folder: Path) -> AsyncIterator[Outside]:
    """The stage with the machine's own clock: the published client compares with it."""
    store = await open_store("memory:", folder)
    stage = a_world(store, a_policy(agents=agents(), sources={"s": Source("s")}))
    stage.workflow = Workflow(replace(stage.workflow.world, clock=SystemClock()))
    stage.clock = stage.workflow.world.clock
    await stage.workflow.start()
    async with served_doors(stage.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        yield Outside(url, stage)
    await stage.workflow.shut_down(1)
    await store.close()


@asynccontextmanager
async def published_client(outside: Outside) -> AsyncIterator[AsyncClient]:
    """Leila's client, closed at the end."""
    client = AsyncClient(f"{outside.url}/aap", "leila-token", retry_budget=2)
    yield client
    await client._http.aclose()


def ready(tx: Transaction) -> list[Proposal]:
    return [each for each in tx.proposals.waiting(0, 9) if each.verdict and not each.opener]


async def decided(outside: Outside, person: str, *, approve: bool = True) -> str:
    """Wait until one proposal waits for people, then decide it."""
    world = outside.world
    async with asyncio.timeout(40):
        # The client decides when it asks: there is nothing to be woken by.
        while not (waiting := await world.store.read(ready)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await world.shows()
    decide = world.approves if approve else world.rejects
    await decide(person, waiting[0].proposal_id, "seen")
    return waiting[0].proposal_id
