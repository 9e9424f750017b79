"""Two hundred proposals at once: no card lost, none doubled, all in order."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

from bot.storage.opening import open_store
from lifecycle.policy import Limits, Safety
from tests.builders import a_policy
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import a_stage, until

log = logging.getLogger("figures")

COUNT = 200
AT_ONCE = 20


async def test_two_hundred_proposals_are_two_hundred_cards(
    server: DiscordServer, tmp_path: Path
) -> None:
    policy = a_policy(limits=Limits(rate=dict.fromkeys(Safety, 10_000)))
    leila = replace(policy.agents["leila"], open_limit=1_000)
    policy = replace(policy, agents={**policy.agents, "leila": leila})
    store = await open_store("sqlite:///burst.db", tmp_path)
    stage = a_stage(store, server, policy)
    await stage.begins()
    watch = LoopWatch()
    watched = asyncio.create_task(watch.run())

    began_s, ids = asyncio.get_running_loop().time(), []
    for number in range(COUNT):
        body = f"Hello {number} " + "and thank you. " * 40
        parameters = {"to": "pat@partner.example", "subject": f"Invoice {number}", "body": body}
        ids.append(stage.sends(proposal_id=f"n{number:03d}", parameters=parameters))
        await until(lambda: len(server.cards()) > number - AT_ONCE, "keeping up", seconds=30)  # noqa: B023
    await until(lambda: len(server.cards()) >= COUNT, "all cards", seconds=110)
    await until(lambda: len(stage.answers()) >= COUNT, "all answers", seconds=60)
    watched.cancel()
    took_s = asyncio.get_running_loop().time() - began_s

    shown = [card.data["embeds"][0]["footer"]["text"].split(" ")[0] for card in server.cards()]
    assert shown == ids
    assert sorted(answer["proposal_id"] for answer in stage.answers()) == ids
    log.info("200 cards in %.1f s, longest block %d ms", took_s, watch.longest_s * 1000)
    await stage.ends()
    await store.close()


class LoopWatch:
    """Measures how long the loop, the server's own work included, worked without a break.

    A figure for the log, in time of the processor; the bench holds the loop to its bound.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            before_s = time.thread_time()
            await asyncio.sleep(0.001)
            self.longest_s = max(self.longest_s, time.thread_time() - before_s)
