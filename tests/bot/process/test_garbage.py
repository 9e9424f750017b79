"""The garbage collector comes seldom, which costs no memory: a life leaves nothing for it."""

from __future__ import annotations

import gc
from pathlib import Path

from bot.bench.stage import Stage, staged

_LIVES = 20


async def test_a_life_leaves_nothing_for_the_garbage_collector(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await _live(stage)  # what is made once, and kept, is made
        gc.collect()
        gc.disable()
        try:
            for _ in range(_LIVES):
                await _live(stage)
            assert gc.collect() < _LIVES
        finally:
            gc.enable()


async def test_a_bot_that_is_set_up_spares_what_is_loaded_and_collects_seldom(
    tmp_path: Path,
) -> None:
    gc.unfreeze()  # as a process that has just begun
    gc.set_threshold(700, 10, 10)

    async with staged(tmp_path):
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold()[0] > 700


async def _live(stage: Stage) -> None:
    proposal_id = await stage.submit()
    await stage.deliver()
    await stage.approve(proposal_id)
    await stage.workflow.idle()
