"""Whatever is done in one moment, and in whatever order it goes on: the law holds, all ends, and
what people were told is so."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Any

import pytest

from tests.stories.any_deeds import the_policy
from tests.stories.at_once import AtOnce
from tests.stories.late import LateStore, late_tasks, make_late
from tests.world import a_world

_ROUNDS = 8


@pytest.mark.parametrize("quarter", range(4))
async def test_the_law_holds_whatever_is_done_at_once(
    quarter: int, caplog: pytest.LogCaptureFixture
) -> None:
    for seed in range(quarter * 12, quarter * 12 + 12):
        others = asyncio.all_tasks()
        chance = Random(f"late {seed}")
        store: Any = LateStore(chance)
        world = a_world(store, the_policy())
        make_late(world, chance)
        with late_tasks(chance), caplog.at_level(logging.ERROR):
            await world.workflow.start()
            life = AtOnce(world, seed)
            for _ in range(_ROUNDS):
                await life.once()
                assert not life.wrong, seed
            await life.ends_well()
            assert not life.wrong, seed
            await world.workflow.shut_down(0)
            await life.turns_of_the_loop(60)
        # A tool that breaks may say so in the log, and nobody else has anything to say there.
        assert {record.name for record in caplog.records} <= {"signoff.tools"}, seed
        assert asyncio.all_tasks() == others, seed
