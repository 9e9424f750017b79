"""A program that dies on purpose: one life of a proposal, killed with SIGKILL at its n-th step.

The real law over a real SQLite file, put together by the composition root; only the ports of the
store and of the tools are wrapped, so that each commit and each call is a step at which the
process can kill itself. Every life and every restart is a process of its own (forked, so that the
imports are paid once). Prints one JSON line a death: what the effects were and what a restart
found. `python -m tests.crash.driver FOLDER SCENARIO [twice]`
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from bot.bootstrap import App, opened
from bot.config import Config, load_config
from lifecycle.answers import Sender
from lifecycle.audit import broken_links
from lifecycle.ports import Call
from lifecycle.proposal import ActorKind, Proposal
from tests.conftest import ROOT
from tests.fakes.clock import FakeClock
from tests.fakes.notifier import PlainNotifier

#: Longer than any window of a scenario, and than the deadline of what nobody decided.
WINDOW_S = 900
DAY_S = 86_400
#: Deaths within a restart are tried at so many steps.
RESTART_STEPS = 20
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


class Fuse:
    """Counts steps and kills this process at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at, self.steps = at, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class FusedStore:
    """A store at whose commits the fuse burns: before, inside the transaction, and after."""

    def __init__(self, store: Any, fuse: Fuse) -> None:
        self._store, self._fuse = store, fuse

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        def burning(tx: Any) -> Any:
            value = unit(tx)
            self._fuse.step()
            return value

        self._fuse.step()
        value = await self._store.write(burning)
        self._fuse.step()
        return value

    async def read(self, view: Callable[[Any], Any]) -> Any:
        return await self._store.read(view)

    async def close(self) -> None:
        await self._store.close()


class FusedTool:
    """A tool at whose calls the fuse burns: before, and after the effect was made."""

    def __init__(self, tool: Any, fuse: Fuse) -> None:
        self._tool, self._fuse = tool, fuse

    async def execute(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.execute, call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.commit, call)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        return await self._burning(self._tool.roll_back, call)

    async def _burning(self, verb: Callable[[Call], Any], call: Call) -> Mapping[str, Any]:
        self._fuse.step()
        receipt = await verb(call)
        self._fuse.step()
        return dict(receipt)


class FusedToolbox:
    """A toolbox of such tools."""

    def __init__(self, toolbox: Any, fuse: Fuse) -> None:
        self._toolbox, self._fuse = toolbox, fuse

    def tool(self, name: str) -> Any:
        return FusedTool(self._toolbox.tool(name), self._fuse)

    def real_path(self, path: str) -> str:
        return str(self._toolbox.real_path(path))

    def describe(self, name: str) -> Mapping[str, Any]:
        return dict(self._toolbox.describe(name))


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
        rejected,
    )
}


def prepared(folder: Path) -> Config:
    """Write the config and the tool that notes each of its calls."""
    folder.mkdir(parents=True)
    text = (ROOT / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("tools:\n", TOOLS, 1))
    (folder / "effect.sh").write_text(EFFECT)
    return load_config(folder / "config.yaml")


async def alive(config: Config, fuse: Fuse, clock: FakeClock, act: Callable[..., Any]) -> Any:
    """Run a bot over the config's folder and let `act` live in it."""
    notifier = PlainNotifier()
    async with opened(config, dict(os.environ), notifier) as app:
        world = app.workflow.world
        world.clock = clock
        world.store = FusedStore(world.store, fuse)  # type: ignore[assignment]
        world.toolbox = FusedToolbox(world.toolbox, fuse)  # type: ignore[assignment]
        await app.workflow.start()
        value = await act(Life(app, notifier, clock))
        await app.workflow.stop(5)
        return value


async def restarted(life: Life, scenario: Callable[..., Any]) -> dict[str, Any]:
    """Keep house past every window; then let everybody who was there do the same again.

    Says how it stands after each, and when the day is over.
    """
    await life.settles()
    await life.passes(WINDOW_S)
    found = await _standing(life)
    await scenario(life)
    again = await _standing(life)
    await life.passes(DAY_S)
    return {"found": found, "again": again, "later": await _standing(life)}


async def _standing(life: Life) -> dict[str, Any]:
    proposal, now_ms = await life.proposal(), life.clock.now_ms()
    read = life.workflow.world.store.read
    entries = await read(lambda tx: tx.audit.exported(0, 10_000))
    standing: dict[str, Any] = {"broken": broken_links(entries), "state": None}
    if proposal is None:
        return standing
    execution = proposal.execution
    closes_ms = execution.window_closes_at_ms if execution else None
    task = await read(lambda tx: tx.backlog.get("t1"))
    return standing | {
        "state": proposal.state.value,
        "reason": proposal.reason,
        "attention": proposal.attention.value if proposal.attention else None,
        "verb": execution.verb.value if execution else None,
        "outcome": execution.outcome.value if execution else None,
        "overdue": closes_ms is not None and closes_ms <= now_ms,
        "task": task.state if task else None,
    }


def in_a_process(work: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[int, Any]:
    """Do `work` in a process of its own; return its wait status and its value."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            said = json.dumps(asyncio.run(work())).encode()
        except BaseException as error:
            said = json.dumps({"error": repr(error)}).encode()
        os.write(writing, said)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return status, json.loads(said) if said else None


def effects(folder: Path) -> list[tuple[str, str]]:
    """Return (verb, idempotency key) of every call that reached the world."""
    path = folder / "effects.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    calls = [json.loads(line) for line in lines]
    return [(call["verb"], call["idempotency_key"]) for call in calls]


def steps_of(config: Config, scenario: Callable[..., Any]) -> int:
    """Live undisturbed once and count the steps."""

    async def counted() -> int:
        fuse = Fuse(None)
        await alive(config, fuse, FakeClock(), scenario)
        return fuse.steps

    _, steps = in_a_process(counted)
    assert isinstance(steps, int), steps
    return steps


def death_at(
    step: int, config: Config, scenario: Callable[..., Any], again_at: int | None = None
) -> dict[str, Any]:
    """Die at a step, restart, and let everybody repeat what they did.

    `again_at` is a step of a first restart, at which that dies as well.
    """
    shutil.rmtree(config.folder / "data")
    (config.folder / "effects.jsonl").unlink(missing_ok=True)
    status, _ = in_a_process(lambda: alive(config, Fuse(step), FakeClock(), scenario))
    at_death = effects(config.folder)

    def restart(fuse: Fuse) -> tuple[int, Any]:
        clock = FakeClock()
        clock.advance(60)
        return in_a_process(
            lambda: alive(config, fuse, clock, lambda life: restarted(life, scenario))
        )

    if again_at is not None:
        restart(Fuse(again_at))
    _, standing = restart(Fuse(None))
    return {
        "step": step,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "at_death": at_death,
        "effects": effects(config.folder),
        **standing,
    }


def main() -> None:
    """Die at every step of a scenario; with `twice`, right after an effect and in the restart."""
    config, scenario = prepared(Path(sys.argv[1])), SCENARIOS[sys.argv[2]]
    twice = sys.argv[3:] == ["twice"]
    for step in range(1, steps_of(config, scenario) + 1):
        death = death_at(step, config, scenario)
        if not twice:
            sys.stdout.write(json.dumps(death) + "\n")
        elif death["at_death"]:
            for again_at in range(1, RESTART_STEPS + 1):
                told = death_at(step, config, scenario, again_at)
                sys.stdout.write(json.dumps(told) + "\n")
            return


if __name__ == "__main__":
    main()
