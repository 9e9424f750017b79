"""Whatever comes in whatever order, and wherever the process dies: the law holds, and all ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stage import staged
from tests.stories.any_deeds import the_policy
from tests.stories.any_order import Disorder

_STEPS = 90


@pytest.mark.parametrize("eighth", range(4))
async def test_the_law_holds_in_any_order(eighth: int, tmp_path: Path) -> None:
    for seed in range(eighth * 8, eighth * 8 + 8):
        async with staged("memory:", tmp_path, the_policy()) as world:
            await Disorder(world, seed).lived(_STEPS, seed)
