"""Over lines, calls and disks that fail in whatever order: nothing begins that people did not ask
for with their hands, no stop is lost, and all ends.

Twelve lives as a rule; SIGNOFF_LIVES=1000 for a long run, SIGNOFF_SEED for others.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.chat.discord import reactions
from bot.chat.hearing import unplaced as early
from tests.stage import staged
from tests.stories import any_deeds
from tests.stories.any_ears import Ears

_LIVES = int(os.environ.get("SIGNOFF_LIVES", "12"))
_SEED = int(os.environ.get("SIGNOFF_SEED", "0"))
_STEPS = 90
_TOOLS = (
    "send-email send-email again stage-window stage-window act stage issue-refund issue-refund "
    "search-all"
)


@pytest.mark.parametrize("third", range(3))
async def test_the_law_holds_whatever_is_heard(
    third: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(early, "_PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(reactions, "_EARLY_S", (0.0,) * 4)
    monkeypatch.setattr(any_deeds, "TOOLS", tuple(_TOOLS.split()))
    monkeypatch.setattr(any_deeds, "PLACES", ("discord", "slack"))
    for seed in range(_SEED + third, _SEED + _LIVES, 3):
        async with staged("memory:", tmp_path, any_deeds.the_policy()) as world:
            await Ears(world, seed).lived(_STEPS, seed)
        mistakes = {
            each.getMessage() for each in caplog.records if "TypeError" in each.getMessage()
        }
        assert mistakes == set(), "a surface that is deaf by a mistake finds no fault"
        caplog.clear()
