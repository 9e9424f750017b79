"""The past must cost nothing: the same questions over a short and a long history."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bot.bench.stage import AGENTS, Stage, staged
from bot.bench.windows import add_rows, open_window
from lifecycle.ports import Transaction
from lifecycle.proposal import CLOCK, Proposal
from lifecycle.state import State

_PAGE = 5_000
_ROUNDS = 200

Question = Callable[[Transaction, int], Any]
QUESTIONS: dict[str, Question] = {
    "pending": lambda tx, now_ms: tx.proposals.waiting(0, 10),
    "due": lambda tx, now_ms: tx.proposals.due_to_close(now_ms, 200),
    "deduplication": lambda tx, now_ms: tx.proposals.open_like(AGENTS[0], f"sha256:{now_ms:064x}"),
}


async def questions_us(
    folder: Path, histories: Sequence[int], tell: Callable[[str], None]
) -> dict[str, list[float]]:
    """Return for each question its median in µs (on the store's own thread) for each history."""
    times: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    async with staged(folder) as stage:
        filled = 0
        for history in histories:
            await _fill(stage, filled, history, tell)
            filled = history
            for name, question in QUESTIONS.items():
                times[name].append(await _median_us(stage, question))
    return times


async def _median_us(stage: Stage, question: Question) -> float:
    now_ms = stage.clock.now_ms()

    def timed(tx: Transaction) -> float:
        spans = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            question(tx, now_ms)
            spans.append(time.perf_counter() - began)
        return statistics.median(spans) * 1e6

    return await stage.store.read(timed)


async def _fill(stage: Stage, begin: int, end: int, tell: Callable[[str], None]) -> None:
    now_ms = stage.clock.now_ms()
    for first in range(begin, end, _PAGE):
        rows = [_past(number, now_ms) for number in range(first, min(first + _PAGE, end))]
        await stage.store.write(partial(add_rows, rows))
        tell(f"{min(first + _PAGE, end):,} past proposals")


def _past(number: int, now_ms: int) -> Proposal:
    row = open_window(number, now_ms, now_ms)
    return replace(
        row,
        state=State.COMPLETED,
        reason="window_closed_unopposed",
        decided_by=CLOCK,
        decided_at_ms=now_ms,
    )
