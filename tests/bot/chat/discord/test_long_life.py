"""One bot over many proposals, with everything that goes wrong in between: each stands in one card
at the end, each decision was carried out once, and nothing is remembered that is over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.bot.chat.discord.standing import DEPLOY, unheard
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until
from tests.roomy import a_roomy_policy

BATCHES, BATCH = 6, 6
POSTS, EDITS = "/channels/701/messages$", "/channels/701/messages/"
ENDS = {"✅": "completed", "❌": "rejected"}


class Life:
    """What was done on which card, and what goes wrong."""

    def __init__(self, stage: DiscordStage, chance: random.Random) -> None:
        self.stage, self.chance = stage, chance
        self.done: dict[str, str] = {}

    def goes_wrong(self) -> None:
        fails = self.stage.server.fails
        mishaps: list[Callable[[], object]] = [
            lambda: fails("POST", POSTS, acts=True, says="PROPOSAL", times=1),
            lambda: fails("POST", POSTS, status=429, retry_after=0.02, times=2),
            lambda: fails("PATCH", EDITS, status=400, code=50035, says="PROPOSAL", times=1),
            lambda: fails("PATCH", EDITS, acts=True, times=1),
            lambda: fails("GET", EDITS, times=2),
            self.stage.server.messages.nonces.clear,
            self.stage.server.gateway.cut,
        ]
        self.chance.choice(mishaps)()

    def does_something(self, proposal_id: str, card: Message) -> None:
        server, what = self.stage.server, self.chance.choice(["✅", "❌", "hide", "delete", ""])
        self.done[proposal_id] = what
        if what in ENDS:
            server.reacts(ANA if what == TICK else BEN, card, what)
        elif what:
            (server.hides if what == "hide" else server.deletes)(card)

    async def is_away(self) -> None:
        """End the bot, decide meanwhile, and begin it anew."""
        await self.stage.ends()
        waiting = [pid for pid, what in self.done.items() if not what]
        for proposal_id in waiting[:2]:
            unheard(cards_of(self.stage, proposal_id)[-1], ANA, TICK)
            self.done[proposal_id] = TICK
        await self.stage.begins(connected=False)

    async def goes_on(self) -> None:
        self.stage.clock.advance(3)
        if self.stage.surface.hearing.connected:
            self.stage.surface.hearing.alive()
        await self.stage.keeps_house()

    async def current(self, proposal_id: str) -> Message:
        async def stands() -> Message | None:
            await self.goes_on()
            row = await self.stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
            if row is None or not row.delivered or row.shown_version < row.wanted_version:
                return None
            return self.stage.server.state.messages[CHANNEL].get(row.message_ids[-1])

        return await until(stands, f"the card of {proposal_id}")  # type: ignore[no-any-return]

    async def has_settled(self) -> bool:
        await self.goes_on()
        found = [await self.stage.proposal(each) for each in self.done]
        wanted = [ENDS.get(what, "sentinel_approved") for what in self.done.values()]
        stale = await self.stage.store.read(lambda tx: tx.cards.stale("discord", 10**15, 1))
        settled = [each.state.value for each in found] == wanted and not stale
        return settled and not self.stage.surface.hearing.gap


def cards_of(stage: DiscordStage, proposal_id: str) -> list[Message]:
    messages = stage.server.state.messages[CHANNEL].values()
    footers = ((m, m.data["embeds"][0]["footer"]["text"]) for m in messages if m.data["embeds"])
    return [message for message, footer in footers if footer.startswith(f"{proposal_id} ")]


@pytest.mark.parametrize("seed", [7, 8, 19])
async def test_over_many_proposals_and_mishaps_each_has_one_card_and_each_decision_its_effect(
    unstarted: DiscordStage, seed: int
) -> None:
    stage = unstarted
    stage.policy = a_roomy_policy()
    await stage.begins()
    life = Life(stage, random.Random(seed))
    for number in range(BATCHES):
        await until(lambda: stage.surface.hearing.connected, "connected")
        ids = [stage.sends(PROD, target=each) for each in targets(number)]
        await until(lambda ids=ids: all_known(stage, ids), "heard")
        life.goes_wrong()
        for proposal_id in ids:
            life.does_something(proposal_id, await life.current(proposal_id))
        if number % 2:
            await life.is_away()
        await life.goes_on()
    await until(life.has_settled, "settled")
    await stage.quiet()

    assert {pid: len(cards_of(stage, pid)) for pid in life.done} == dict.fromkeys(life.done, 1)
    carried_out = Counter(call.proposal_id for call in stage.tool(DEPLOY).calls)
    assert carried_out == Counter(pid for pid, what in life.done.items() if what == TICK)
    assert CROSS in life.done.values()
    listening = stage.surface.listening
    assert listening is not None
    assert listening.quiet
    assert not listening.inbox.lanes
    assert not stage.surface.seeds.missing


def targets(number: int) -> list[dict[str, Any]]:
    services = (f"www-{number}-{each}" for each in range(BATCH))
    return [PROD["target"] | {"resource_id": each} for each in services]


async def all_known(stage: DiscordStage, proposal_ids: list[str]) -> bool:
    found = [
        await stage.store.read(lambda tx, pid=pid: tx.proposals.get(pid)) for pid in proposal_ids
    ]
    return None not in found
