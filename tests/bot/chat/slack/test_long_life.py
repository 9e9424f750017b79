"""One bot over many proposals, with everything that goes wrong in between: each stands in one card
at the end, each decision was carried out once, and nothing is remembered that is over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from tests.bot.chat.slack.counted import DEPLOY
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.roomy import a_roomy_policy
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

BATCHES, BATCH = 6, 6
TICK, CROSS = "white_check_mark", "x"
ENDS = {TICK: "completed", CROSS: "rejected"}


class Life:
    """What was done on which card, and what goes wrong."""

    def __init__(self, slack: OnSlack, chance: random.Random) -> None:
        self.slack, self.chance = slack, chance
        self.done: dict[str, str] = {}

    async def is_proposed(self, number: int) -> list[str]:
        ids = [f"p{number * BATCH + each}" for each in range(BATCH)]
        for proposal_id in ids:
            target = PROD["target"] | {"resource_id": proposal_id}
            document = self.slack.document(PROD, proposal_id=proposal_id, target=target)
            await self.slack.server.proposes("ULEILA", document)
        return ids

    def goes_wrong(self) -> None:
        fails = self.slack.server.fails
        mishaps: list[Callable[[], object]] = [
            lambda: fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent"),
            lambda: fails("chat.postMessage", "ratelimited", times=2),
            lambda: fails("chat.update", "lost_answer"),
            lambda: fails("chat.update", error="invalid_blocks"),
            lambda: fails("conversations.history", "status", times=2),
            lambda: fails("reactions.get", "status", times=3),
            lambda: fails("reactions.add", "ratelimited", times=3),
        ]
        self.chance.choice(mishaps)()

    async def does_something(self, proposal_id: str, card: Message) -> None:
        server, what = self.slack.server, self.chance.choice([TICK, CROSS, "delete", ""])
        self.done[proposal_id] = what
        if what in ENDS:
            await server.reacts("UANA" if what == TICK else "UBEN", card.ts, what)
        elif what:
            await server.deletes(card.ts)

    async def is_away(self) -> None:
        """End the bot, decide meanwhile, and begin it anew."""
        await self.slack.settles()
        await self.slack.closes()
        waiting = [pid for pid, what in self.done.items() if not what]
        for proposal_id in waiting[:2]:
            card = self.slack.cards(proposal_id)[-1]
            await self.slack.server.reacts("UANA", card.ts, heard=False)
            self.done[proposal_id] = TICK
        await self.slack.restarts()

    async def goes_on(self) -> None:
        self.slack.world.clock.advance(3)
        self.slack.broadcast.nudge()
        await self.slack.broadcast.catch_up()
        await self.slack.world.workflow.open_ready()

    async def current(self, proposal_id: str) -> Message:
        found: list[Message] = []

        async def stands() -> bool:
            await self.goes_on()
            row = await self.slack.world.store.read(lambda tx: tx.cards.get(proposal_id, "slack"))
            if row is None or not row.delivered or row.shown_version < row.wanted_version:
                return False
            card = self.slack.server.workspace.find("C0OPS", row.message_ids[-1])
            found.extend([card] if card is not None else [])
            return bool(found)

        await eventually_async(stands, f"the card of {proposal_id}")
        return found[0]

    async def has_settled(self) -> bool:
        await self.goes_on()
        found = [await self.slack.world.proposal(each) for each in self.done]
        wanted = [ENDS.get(what, "sentinel_approved") for what in self.done.values()]
        settled = [each.state.value for each in found] == wanted
        return settled and not self.slack.hearing.gap and await self.slack.nothing_stale()


@pytest.mark.parametrize("seed", [1, 4, 15])
async def test_over_many_proposals_and_mishaps_each_has_one_card_and_each_decision_its_effect(
    seed: int,
) -> None:
    async with on_slack(a_roomy_policy()) as slack:
        life = Life(slack, random.Random(seed))
        for number in range(BATCHES):
            ids = await life.is_proposed(number)
            life.goes_wrong()
            for proposal_id in ids:
                await life.does_something(proposal_id, await life.current(proposal_id))
            if number % 2:
                await life.is_away()
            await life.goes_on()
        await eventually_async(life.has_settled, "settled")
        await slack.settles()

        assert {pid: len(slack.cards(pid)) for pid in life.done} == dict.fromkeys(life.done, 1)
        carried_out = Counter(call.proposal_id for call in slack.world.tool(DEPLOY).calls)
        assert carried_out == Counter(pid for pid, what in life.done.items() if what == TICK)
        listening, desk = slack.surface.listening, slack.surface.desk
        assert listening is not None
        assert listening.inbox.quiet
        assert desk is not None
        await eventually(lambda: not desk.seeds.missing, "no emoji missing")
