"""The log while a platform is away: each reason once, however many cards wait."""

from __future__ import annotations

import pytest

from bot.chat.surface import SurfaceFailed
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface


@pytest.fixture
def away() -> FakeSurface:
    surface = FakeSurface()
    surface.failures = [SurfaceFailed("not connected")] * 10
    return surface


def _warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "signoff.delivery"]


async def test_many_cards_that_fail_for_one_reason_are_one_line(
    away: FakeSurface, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(away)
    delivery = stage.delivery()
    for number in range(2):
        await stage.submits(PROD, proposal_id=f"p{number}", parameters={"version": f"v{number}"})
    for _ in range(2):
        await delivery.drain()
        stage.world.clock.advance(60)

    assert len(_warned(caplog)) == 1
    assert "not connected" in _warned(caplog)[0]


async def test_another_reason_is_another_line_and_so_is_the_same_one_after_it_went_well(
    away: FakeSurface, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(away)
    delivery = stage.delivery()
    lost = SurfaceFailed("not connected")
    away.failures = [lost, SurfaceFailed("503"), lost]
    await stage.submits(PROD)
    for _ in range(4):
        await delivery.drain()
        stage.world.clock.advance(60)
    assert len(_warned(caplog)) == 2

    away.failures = [lost]
    await stage.world.rejects("ben", "p1")
    await delivery.drain()
    assert len(_warned(caplog)) == 3
