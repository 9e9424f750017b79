"""Nothing goes on in the moment in which it could: the store, the rules and every task are some
turns of the loop late. All by a seed, so that a schedule that went wrong is met again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from bot.storage.memory import MemoryStore
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.document import ProposalDocument
from lifecycle.ports import Transaction
from lifecycle.sentinel import Facts
from lifecycle.verdict import Verdict
from tests.checking import every_rule

_TURNS = (0, 0, 1, 2, 3, 7)
_Unit = Callable[[Transaction], Any]
_Answer = asyncio.Future[Any]


async def some_turns(chance: Random, most: int = 7) -> None:
    """Let others go on meanwhile."""
    for _ in range(min(most, chance.choice(_TURNS))):
        await asyncio.sleep(0)


class LateStore:
    """In memory, and in time like SQLite: units run in the order in which they came, some share a
    commit, and whoever sent one hears of it later than others may read what it wrote.

    `seq` is the last entry of the trail that is committed.
    """

    def __init__(self, chance: Random) -> None:
        self._inner, self._chance = MemoryStore(), chance
        self._jobs: deque[tuple[_Unit, _Answer]] = deque()
        self._working: asyncio.Task[None] | None = None
        self.seq = 0

    async def write(self, unit: _Unit) -> Any:
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._jobs.append((unit, answer))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await answer

    async def read(self, view: _Unit) -> Any:
        await some_turns(self._chance)
        value = await self._inner.read(view)
        await some_turns(self._chance)
        return value

    async def close(self) -> None:
        await self._inner.close()

    async def _work(self) -> None:
        while self._jobs:
            await some_turns(self._chance)
            together = min(len(self._jobs), self._chance.randint(1, 5))
            ran = [await self._run(*self._jobs.popleft()) for _ in range(together)]
            self.seq = await self._inner.read(lambda tx: tx.audit.head()[0])
            await some_turns(self._chance)
            for tell in ran:
                tell()

    async def _run(self, unit: _Unit, answer: _Answer) -> Callable[[], None]:
        """Run a unit that somebody waits for; return what tells them of it."""
        if answer.cancelled():
            return lambda: None
        try:
            value = await self._inner.write(unit)
        except Exception as raised:
            error = raised
            return lambda: None if answer.done() else answer.set_exception(error)
        return lambda: None if answer.done() else answer.set_result(value)


class LateSentinel(Sentinel):
    """Rules that take their time, as they do in another thread; small documents go there too."""

    chance = Random(0)

    async def check(self, document: ProposalDocument, facts: Facts, **asked: Any) -> Verdict:
        await some_turns(self.chance)
        verdict = every_rule(self, document, facts, **asked)
        await some_turns(self.chance)
        return verdict

    def check_at_once(
        self, document: ProposalDocument, facts: Facts, *, policy_digest: str, size_bytes: int
    ) -> Verdict | None:
        if self.chance.random() < 0.5:
            return None
        known = {"policy_digest": policy_digest, "size_bytes": size_bytes}
        return super().check_at_once(document, facts, **known)


class _Late(Coroutine[Any, Any, Any]):
    """Goes on some turns after what it waited for has come."""

    def __init__(self, work: Coroutine[Any, Any, Any], chance: Random) -> None:
        self._work, self._chance = work, chance
        self._turns = 0
        self._error: BaseException | None = None

    def send(self, value: Any) -> Any:
        if self._turns > 0:
            self._turns -= 1
            return None
        error, self._error = self._error, None
        waits_for = self._work.send(value) if error is None else self._work.throw(error)
        self._turns = 0 if waits_for is None else self._chance.choice(_TURNS)
        return waits_for

    def throw(self, typ: Any, value: Any = None, trace: Any = None, /) -> Any:
        self._error = typ if isinstance(typ, BaseException) else value or typ()
        return self.send(None)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Any:
        return self._work.__await__()


@contextmanager
def late_tasks(chance: Random) -> Iterator[None]:
    """Let every task that begins within be late."""
    loop = asyncio.get_running_loop()

    def factory(_: Any, work: Any, **rest: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Late(work, chance), loop=loop, **rest)

    loop.set_task_factory(factory)
    try:
        yield
    finally:
        loop.set_task_factory(None)


def make_late(world: Any, chance: Random) -> None:
    """Let the rules of a law, and of those that follow it, take their time."""
    LateSentinel.chance = chance
    law = world.workflow.world.law
    late = LateSentinel(law.sentinel.rules)
    world.workflow.world.law = replace(law, sentinel=late)
