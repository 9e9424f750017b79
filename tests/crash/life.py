"""The lives that are cut short: tools that note each call, and who does what with a proposal."""

from __future__ import annotations

import json
from typing import Any

from bot.bootstrap import App
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind, Proposal
from tests.fakes.clock import FakeClock
from tests.fakes.notifier import PlainNotifier

#: Longer than any window of a scenario, and than the deadline of what nobody decided.
WINDOW_S = 900
DAY_S = 86_400
#: Notes its call in one write: calls of several proposals may come at the same moment.
EFFECT = '#!/bin/sh\ncall=$(cat)\nprintf "%s\\n" "$call" >> effects.jsonl\necho "{}"\n'
RUN = '["sh", "effect.sh"]'
TOOLS = f"""tools:
  effect-deferred:
    {{tier: PROPOSE, action_type: write, roles: [writer], kind: command, window_s: {WINDOW_S},
     execute: {RUN}, commit: {RUN}, roll_back: {RUN}}}
  effect-compensated:
    {{tier: PROPOSE, action_type: write, roles: [writer], kind: command, window_s: {WINDOW_S},
     execute: {RUN}, roll_back: {RUN}}}
  effect-confirm:
    {{tier: CONFIRM, action_type: write, roles: [writer], kind: command, execute: {RUN}}}
  effect-again:
    {{tier: CONFIRM, action_type: write, roles: [writer], kind: command, idempotent: true,
     execute: {RUN}}}
  effect-auto: {{tier: AUTO, action_type: write, roles: [writer], kind: command, execute: {RUN}}}
"""


#: Too long to be judged in the unit that stores it, so that each move is a step of its own.
AT_LENGTH = {"text": "Hello again, at length. " * 400}


class Life:
    """The verbs of a scenario, on a running bot."""

    def __init__(self, app: App, notifier: PlainNotifier, clock: FakeClock) -> None:
        self.workflow, self.notifier, self.clock = app.workflow, notifier, clock

    async def submits(self, tool: str, **changes: Any) -> None:
        stored = await self.proposal()
        document = {
            "proposal_id": "p1",
            "ts_ms": stored.created_at_ms if stored else self.clock.now_ms(),
            "actor": "leila",
            "tool": tool,
            "action_type": "write",
            "target": {
                "resource_type": "note",
                "resource_id": "n1",
                "domain": "shop.example",
                "constraints": {},
            },
            "parameters": {"text": "Hello"},
            "justification": "A note that everybody has been waiting for",
            "task_id": "t1",
        }
        leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
        await self.workflow.submit(json.dumps(document | changes).encode(), leila)
        await self.settles()

    async def approves(self, *people: str) -> None:
        for person in people:
            await self.workflow.approve("p1", self._person(person))
            await self.settles()

    async def rejects(self, person: str) -> None:
        await self.workflow.reject("p1", self._person(person), "no")
        await self.settles()

    async def passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.keeps_house()

    async def keeps_house(self) -> None:
        for job in ("recover", "expire_due", "open_ready", "close_due", "remind"):
            await getattr(self.workflow, job)()
            await self.settles()

    async def settles(self) -> None:
        await self.workflow.idle()
        store, now_ms = self.workflow.world.store, self.clock.now_ms()
        while await self.notifier.deliver(store, now_ms):
            await self.workflow.open_ready()
            await self.workflow.idle()

    async def proposal(self) -> Proposal | None:
        return await self.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))

    def _person(self, name: str) -> Sender:
        return Sender("terminal", ActorKind.PERSON, name, account=name)


async def deferred(life: Life) -> None:
    await life.submits("effect-deferred")
    await life.approves("ana")
    await life.passes(WINDOW_S)


async def compensated(life: Life) -> None:
    await life.submits("effect-compensated")
    await life.approves("ana")
    await life.passes(WINDOW_S)


async def rolled_back(life: Life) -> None:
    await life.submits("effect-deferred")
    await life.approves("ana")
    await life.rejects("ben")


async def restored(life: Life) -> None:
    await life.submits("effect-compensated")
    await life.approves("ana")
    await life.rejects("ben")


async def confirmed(life: Life) -> None:
    await life.submits("effect-confirm", approval_class="dual")
    await life.approves("ana", "ben")


async def repeated(life: Life) -> None:
    await life.submits("effect-again")
    await life.approves("ana")


async def automatic(life: Life) -> None:
    await life.submits("effect-auto")


async def deferred_at_length(life: Life) -> None:
    await life.submits("effect-deferred", parameters=AT_LENGTH)
    await life.approves("ana")
    await life.passes(WINDOW_S)


async def confirmed_at_length(life: Life) -> None:
    await life.submits("effect-confirm", approval_class="dual", parameters=AT_LENGTH)
    await life.approves("ana", "ben")


async def rejected(life: Life) -> None:
    await life.submits("effect-confirm")
    await life.rejects("ana")


SCENARIOS = {
    each.__name__: each
    for each in (
        deferred,
        compensated,
        rolled_back,
        restored,
        confirmed,
        repeated,
        automatic,
        deferred_at_length,
        confirmed_at_length,
        rejected,
    )
}
