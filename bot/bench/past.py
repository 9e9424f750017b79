"""Measures the same queries over a short and a long history, because the past must cost nothing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
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
#: How many proposals wait for people beside the past: more than a page of them.
_WAITING = 20
_ROUNDS = 20
_ASKED_A_ROUND = 10

Question = Callable[[Transaction, int], Any]
QUESTIONS: dict[str, Question] = {
    "pending": lambda tx, now_ms: tx.proposals.waiting(0, 10),
    "due": lambda tx, now_ms: tx.proposals.due_to_close(now_ms, 200),
    "deduplication": lambda tx, now_ms: tx.proposals.open_like(AGENTS[0], f"sha256:{now_ms:064x}"),
}


async def questions_us(
    folder: Path, histories: Sequence[int], tell: Callable[[str], None]
) -> dict[str, list[float]]:
    """Return for each query its median in µs for each history, measured on a reader's thread.

    Each history has a store of its own. The stores are asked in turn, so that a machine that is
    slower for a while is slower for all of them.
    """
    async with AsyncExitStack() as opened:
        stages = []
        for history in histories:
            stage = await opened.enter_async_context(staged(folder / str(history)))
            await _fill(stage, history, tell)
            for _ in range(_WAITING):
                await stage.submit()
            stages.append(stage)
        return {name: await _medians_us(stages, asked) for name, asked in QUESTIONS.items()}


async def _medians_us(stages: Sequence[Stage], question: Question) -> list[float]:
    spans: list[list[float]] = [[] for _ in stages]
    for _ in range(_ROUNDS):
        for stage, found in zip(stages, spans, strict=True):
            found += await stage.store.read(partial(_timed, question, stage.clock.now_ms()))
    return [statistics.median(found) for found in spans]


def _timed(question: Question, now_ms: int, tx: Transaction) -> list[float]:
    spans = []
    for _ in range(_ASKED_A_ROUND):
        began = time.perf_counter()
        question(tx, now_ms)
        spans.append((time.perf_counter() - began) * 1e6)
    return spans


async def _fill(stage: Stage, history: int, tell: Callable[[str], None]) -> None:
    now_ms = stage.clock.now_ms()
    for first in range(0, history, _PAGE):
        page = range(first, min(first + _PAGE, history))
        rows = [_past(number, now_ms) for number in page]
        await stage.store.write(partial(add_rows, rows))
        tell(f"{page.stop:,} past proposals")


def _past(number: int, now_ms: int) -> Proposal:
    row = open_window(number, now_ms, now_ms)
    return replace(
        row,
        state=State.COMPLETED,
        reason="window_closed_unopposed",
        decided_by=CLOCK,
        decided_at_ms=now_ms,
    )
