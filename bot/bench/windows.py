"""Measures rollback windows: many open ones must cost nothing until they are due, and then close in
time."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bot.bench.stage import AGENTS, TOOL, Stage, document, staged
from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Execution, Identity, Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.tier import Tier

_PAGE = 2_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Closing:
    """The result, with times in ms.

    `idle_ms` is one round of the closing job while no window is due. `ready_ms` is the time from
    opening the store to the first answer. `per_s` is what the job can do: windows closed a second
    in the rounds that closed any, without the time in which none was due.
    """

    idle_ms: float
    ready_ms: float
    late_p99_ms: float
    longest_block_ms: float
    per_s: float


async def closing(folder: Path, windows: int, due_within_s: int) -> Closing:
    """Open `windows` rollback windows; measure while none is due, then let them all close."""
    async with staged(folder) as stage:
        await _fill(stage, windows, stage.clock.now_ms() + _DAY_MS, due_within_s)
        idle_ms = await _idle_ms(stage)
    began = time.perf_counter()
    async with staged(folder) as stage:
        await stage.store.read(lambda tx: tx.proposals.next_close_ms())
        ready_ms = (time.perf_counter() - began) * 1000
        await _bring_forward(stage, windows, due_within_s)
        late, block_ms, at_work_s = await _close_all(stage, windows)
    p99 = sorted(late)[int(len(late) * 0.99)]
    return Closing(idle_ms, ready_ms, p99, block_ms, windows / at_work_s)


async def _idle_ms(stage: Stage) -> float:
    rounds = 50
    began = time.perf_counter()
    for _ in range(rounds):
        await stage.workflow.close_due()
    return (time.perf_counter() - began) * 1000 / rounds


async def _fill(stage: Stage, windows: int, first_ms: int, due_within_s: int) -> None:
    step = due_within_s * 1000 / windows
    for first in range(0, windows, _PAGE):
        rows = [
            open_window(number, first_ms + int(number * step), stage.clock.now_ms())
            for number in range(first, min(first + _PAGE, windows))
        ]
        await stage.store.write(partial(add_rows, rows))


def add_rows(rows: Sequence[Proposal], tx: Transaction) -> None:
    """Insert proposals that never went through the gate, as history; a unit."""
    for row in rows:
        tx.proposals.add(row)


async def _bring_forward(stage: Stage, windows: int, due_within_s: int) -> None:
    """Move the ends of the windows so that they are due from two seconds on, spread evenly over
    `due_within_s` seconds."""
    first_ms, step = stage.clock.now_ms() + 2_000, due_within_s * 1000 / windows

    def unit(first: int, tx: Transaction) -> None:
        for number in range(first, min(first + _PAGE, windows)):
            seen = tx.proposals.get(f"window-{number}")
            if seen is None or seen.execution is None:
                continue
            closes_at_ms = first_ms + int(number * step)
            execution = replace(seen.execution, window_closes_at_ms=closes_at_ms)
            tx.proposals.save(replace(seen, execution=execution, version=2), seen)

    for first in range(0, windows, _PAGE):
        await stage.store.write(partial(unit, first))


async def _close_all(stage: Stage, windows: int) -> tuple[list[float], float, float]:
    """Run the closing job as the scheduler would, watching the loop.

    Returns how late each window was closed in ms, the loop's longest block in ms, and the seconds
    of the rounds that closed any.
    """
    watch = Watch()
    watching = asyncio.create_task(watch.look())
    at_work_s, closed = 0.0, 0
    while closed < windows:
        began = time.perf_counter()
        in_this_round = await stage.workflow.close_due()
        if in_this_round:
            at_work_s += time.perf_counter() - began
        closed += in_this_round
        await asyncio.sleep(0.01)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return await stage.store.read(_lateness), watch.longest_ms, at_work_s


@dataclass(slots=True)
class Watch:
    """Measures the longest time in which the event loop did not come round."""

    longest_ms: float = 0.0

    async def look(self) -> None:
        """Look every millisecond until cancelled."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - began) * 1000 - 1)


def _lateness(tx: Transaction) -> list[float]:
    late: list[float] = []
    number = 0
    while (row := tx.proposals.get(f"window-{number}")) is not None:
        if row.state is not State.COMPLETED:
            raise RuntimeError(f"the bench's window {number} ended as {row.state}: {row.reason}")
        execution = row.execution
        if execution is not None and execution.window_closes_at_ms is not None:
            late.append(float((row.decided_at_ms or 0) - execution.window_closes_at_ms))
        number += 1
    return late


def open_window(number: int, closes_at_ms: int, now_ms: int) -> Proposal:
    """Return a proposal inside its rollback window.

    `digest` and `r3_s256` are those of its documents; the other digests are made up.
    """
    fields = json.loads(document(f"window-{number}", number, now_ms))
    raw = canonical_bytes(fields)
    r3 = canonical_bytes({"vocabulary": "bench", "parameters": fields["parameters"]})
    return Proposal(
        proposal_id=f"window-{number}",
        version=1,
        state=State.EXECUTING,
        tier=Tier.CONFIRM,
        tool_tier=Tier.CONFIRM,
        tool=TOOL,
        actor=Identity(ActorKind.AGENT, AGENTS[0]),
        digest=digest_of(raw),
        content_digest=f"sha256:{number:064x}",
        likeness_digest=f"sha256:{number:064x}",
        policy_digest="pol1_" + "b" * 64,
        checked_policy_digest="pol1_" + "b" * 64,
        document=raw,
        r3_document=r3,
        r3_s256=s256(r3),
        surface="bench",
        created_at_ms=now_ms,
        deadline_ms=now_ms + _DAY_MS,
        quorum=1,
        window_s=900,
        execution=Execution(
            verb=Verb.EXECUTE,
            attempt=1,
            outcome=Outcome.DONE,
            receipt={"affected_records": 1},
            window_opens_at_ms=now_ms,
            window_closes_at_ms=closes_at_ms,
            began_at_ms=now_ms,
        ),
    )
