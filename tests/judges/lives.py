"""A life of the bot for crashresume: the real composition over a real file, in its own process.

What its tools do outside goes over a socket to the process that watches, which may kill this one
before it hears that it was done. Deeds are done again after a restart, as agents and people do who
do not know how far they came.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from bot.bootstrap import App, opened
from bot.config import load_config
from bot.trail import verified_in
from lifecycle.answers import Sender
from lifecycle.ports import Call, Tool
from lifecycle.proposal import ActorKind, Attention, Proposal
from tests.crash.life import WINDOW_S
from tests.fakes.clock import NOON_MS, FakeClock
from tests.fakes.notifier import PlainNotifier

_MOST = 10_000
LEILA = Sender("terminal", ActorKind.AGENT, "leila", account="leila")


@dataclass(frozen=True)
class Wish:
    """One input: what leila proposes, in which hour, who approves it and who stops it then."""

    hour: int
    tool: str
    approved_by: tuple[str, ...] = ()
    stopped_by: str | None = None

    @property
    def proposal_id(self) -> str:
        return f"wish-{self.hour}"

    @property
    def at_ms(self) -> int:
        return NOON_MS + self.hour * 3_600_000

    def document(self) -> bytes:
        """Return the same bytes every time."""
        document = {
            "proposal_id": self.proposal_id,
            "ts_ms": self.at_ms,
            "actor": "leila",
            "tool": self.tool,
            "action_type": "write",
            "target": {
                "resource_type": "note",
                "resource_id": self.proposal_id,
                "domain": "shop.example",
                "constraints": {},
            },
            "parameters": {"text": f"The note of hour {self.hour}"},
            "approval_class": "dual" if len(self.approved_by) == 2 else "none",
            "justification": "A note that everybody has been waiting for",
            "task_id": self.proposal_id,
        }
        return json.dumps(document).encode()


class Line:
    """A line to the process that watches: an object there, an object back."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def asks(self, **said: Any) -> Any:
        self.says(said)
        return self.hears()

    def says(self, said: Any) -> None:
        self._stream.write(json.dumps(said) + "\n")
        self._stream.flush()

    def hears(self) -> Any:
        line = self._stream.readline()
        return json.loads(line) if line else None


@dataclass
class Outside:
    """The toolbox: every call is an effect in the world of the one who watches."""

    line: Line

    def tool(self, name: str) -> Tool:
        return self

    async def execute(self, call: Call) -> Mapping[str, Any]:
        self.line.asks(effect=call.verb, key=call.idempotency_key, payload=call.parameters)
        return {}

    commit = roll_back = execute

    def real_path(self, path: str) -> str:
        return path

    def describe(self, name: str) -> Mapping[str, Any]:
        return {}


class People:
    """Who look outside where nobody knows, and write down what they found."""

    async def care(self, life: Life, proposal: Proposal) -> None:
        happened = life.line.asks(known=proposal.idempotency_key)
        await life.app.workflow.settle(proposal.proposal_id, person("ana"), happened)


@dataclass
class Life:
    """A running bot, and everybody who has to do with it."""

    app: App
    clock: FakeClock
    notifier: PlainNotifier
    line: Line
    people: People

    async def fulfils(self, wish: Wish) -> None:
        """Do all that belongs to a wish, whatever of it was done before."""
        workflow, proposal_id = self.app.workflow, wish.proposal_id
        self.clock.set(max(self.clock.now_ms(), wish.at_ms))
        await workflow.submit(wish.document(), LEILA)
        await self.settles()
        for name in wish.approved_by:
            await workflow.approve(proposal_id, person(name))
            await self.settles()
        if wish.stopped_by is not None:
            await workflow.reject(proposal_id, person(wish.stopped_by), "no")
            await self.settles()
        row = await self.app.store.read(lambda tx: tx.proposals.get(proposal_id))
        if row is not None and not row.terminal:
            self.clock.advance(WINDOW_S)
            await self.settles()

    async def settles(self) -> None:
        """Let cards arrive, jobs work and people look, until nothing is left to do."""
        workflow, store = self.app.workflow, self.app.store
        for job in (workflow.recover, workflow.close_due):
            await job()
            await workflow.idle()
        while await self.notifier.deliver(store, self.clock.now_ms()):
            await workflow.open_ready()
            await workflow.idle()
        for row in await self._rows():
            if row.attention is Attention.OUTCOME_UNKNOWN:
                await self.people.care(self, row)
                await workflow.idle()

    async def stands(self) -> dict[str, Any]:
        """Return how everything stands: the rows, the tasks, and what is wrong with the trail."""
        rows = await self._rows()
        tasks = await self.app.store.read(
            lambda tx: {row.task_id: tx.backlog.get("leila", row.task_id or "") for row in rows}
        )
        trail = await verified_in(self.app.store, None, lambda _: None)
        ends = {row.proposal_id: [row.state, row.reason, row.attention] for row in rows}
        return {
            "ends": ends,
            "tasks": {name: task.state if task else None for name, task in tasks.items()},
            "wrong": trail.problems,
        }

    async def _rows(self) -> list[Proposal]:
        entries = await self.app.store.read(lambda tx: tx.audit.exported(0, _MOST))
        ids = dict.fromkeys(entry["proposal_id"] for entry in entries if entry["proposal_id"])
        found = await self.app.store.read(lambda tx: [tx.proposals.get(each) for each in ids])
        return [row for row in found if row is not None]


async def lived(folder: Path, line: Line, people: People, *, forgets: bool = False) -> None:
    """Start the bot over its file, do what the line says, and end as a bot ends."""
    config = load_config(folder / "config.yaml")
    if forgets:
        config = replace(config, database="memory:")
    clock, notifier = FakeClock(), PlainNotifier()
    async with opened(config, dict(os.environ), notifier) as app:
        clock.set(await _latest_ms(app))
        app.workflow.world.clock, app.workflow.world.toolbox = clock, Outside(line)
        life = Life(app, clock, notifier, line, people)
        await app.workflow.start()
        await life.settles()
        line.says({"done": None})
        while (said := line.hears()) != "goodbye":
            if said == "how does it stand?":
                line.says({"done": await life.stands()})
            else:
                await life.fulfils(Wish(**said))
                line.says({"done": None})


def person(name: str) -> Sender:
    """Return a person at the terminal."""
    return Sender("terminal", ActorKind.PERSON, name, account=name)


async def _latest_ms(app: App) -> int:
    """Return a minute after the last entry of the trail: time goes on while nobody lives."""
    entries = await app.store.read(lambda tx: tx.audit.exported(0, _MOST))
    if not entries:
        return NOON_MS
    return int(datetime.fromisoformat(entries[-1]["at"]).timestamp()) * 1000 + 60_000
