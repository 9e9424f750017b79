"""A `webhook-id` stands for one piece of news, also where ids of proposals come again: beside
another database, or after a copy was brought back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from tests.bot.intake.conftest import TOKENS, agents
from tests.bot.intake.receiver import SECRET, Receiver
from tests.builders import PROD, a_policy
from tests.world import a_world


async def ended(receiver: Receiver, folder: Path, why: str, count: int) -> str:
    """Let p1 end so beside a database of its own; return the id under which its agent was told."""
    store = await open_store("memory:", folder)
    leila = replace(agents()["leila"], callback_url=receiver.url, callback_secret_env="C_LEILA")
    world = a_world(store, a_policy(agents={**agents(), "leila": leila}))
    await world.workflow.start()
    async with served_doors(world.workflow, TOKENS | {"C_LEILA": SECRET}, "127.0.0.1", 0):
        await world.submits(PROD)
        await world.rejects("ben", "p1", why)
        told = await asyncio.wait_for(receiver.told(count), 20)
    await world.workflow.shut_down(1)
    await store.close()
    assert told[-1]["data"]["explanation"] == why
    return receiver.came[-1][0]["webhook-id"]


async def test_an_end_is_not_taken_for_the_one_of_which_another_database_told(
    receiver: Receiver, tmp_path: Path
) -> None:
    first = await ended(receiver, tmp_path, "not today", 1)

    assert await ended(receiver, tmp_path, "nor tomorrow", 2) != first
