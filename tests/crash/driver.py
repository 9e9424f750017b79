"""A program that dies on purpose: one life of a proposal, killed with SIGKILL at its n-th step.

The real law over a real SQLite file, put together by the composition root; only the ports of the
store and of the tools are wrapped, so that each commit and each call is a step at which the
process can kill itself. Every life and every restart is a process of its own (forked, so that the
imports are paid once). `python -m tests.crash.driver` reads lines: `["FOLDER", "SCENARIO"]` or
`["FOLDER", "SCENARIO", "twice"]`. It answers each with a JSON line a death, which tells what the
effects were and what a restart found, and then an empty line.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from bot.bootstrap import opened
from bot.config import Config, load_config
from bot.storage import sqlite  # noqa: F401 - so that no life pays for importing it
from lifecycle.audit import broken_links
from tests.crash.fuse import Fuse, FusedStore, FusedToolbox
from tests.crash.life import DAY_S, EFFECT, SCENARIOS, TOOLS, WINDOW_S, Life
from tests.fakes.clock import FakeClock
from tests.fakes.notifier import PlainNotifier
from tests.loaded import ROOT

#: Deaths within a restart are tried at so many steps.
RESTART_STEPS = 20
#: Every second step as a rule, every one in the long run (SIGNOFF_CRASHES). A commit has three
#: steps, so that every second one still meets before, inside and after; so does every fourth, where
#: the same life was tried already, only not at such length.
STRIDE = 1 if "SIGNOFF_CRASHES" in os.environ else 2
AT_LENGTH = 1 if "SIGNOFF_CRASHES" in os.environ else 4


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
        await app.workflow.shut_down(5)
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
    task = await read(lambda tx: tx.backlog.get("leila", "t1"))
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


def deaths(folder: Path, name: str, *how: str) -> Iterator[dict[str, Any]]:
    """Die at every step of a scenario; with `twice`, right after an effect and in the restart."""
    config, scenario = prepared(folder), SCENARIOS[name]
    twice = how == ("twice",)
    stride = AT_LENGTH if name.endswith("_at_length") else STRIDE
    for step in range(1, steps_of(config, scenario) + 1, 1 if twice else stride):
        death = death_at(step, config, scenario)
        if not twice:
            yield death
        elif death["at_death"]:
            for again_at in range(1, RESTART_STEPS + 1, STRIDE):
                yield death_at(step, config, scenario, again_at)
            return


def main() -> None:
    """Answer line by line what is asked for, until the input ends."""
    gc.collect()
    gc.freeze()  # a life that looks for garbage would copy all that it shares with this process
    for line in sys.stdin:
        folder, *words = json.loads(line)
        for death in deaths(Path(folder), *words):
            sys.stdout.write(json.dumps(death) + "\n")
        sys.stdout.write("\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
