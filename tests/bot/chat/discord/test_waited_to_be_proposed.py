"""A proposal on Discord that had to wait is no older than it was when the bot heard it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from tests.builders import a_document
from tests.fakes.discord_stage import ANA, DiscordStage, until

AN_HOUR_S = 3_600


async def waits_in_a_file(stage: DiscordStage, how: str) -> Any:
    """Let ana propose in a file that Discord does not give out now; return the outage."""
    document = a_document(proposal_id="s1", actor="ana", ts_ms=stage.clock.now_ms())
    files = {"mail.json": json.dumps(document).encode()}
    outage = stage.server.fails("GET", "/files/", status=503, times=None)
    if how == "slash":
        stage.server.runs(ANA, "propose", files=files)
    else:
        stage.server.says(ANA, "!propose", files=files)
    await until(lambda: outage.seen > 0, "asked for")
    return outage


async def state_of_it(stage: DiscordStage) -> str | None:
    stage.clock.advance(1)
    found = await stage.store.read(lambda tx: tx.proposals.get("s1"))
    return found.state.value if found is not None else None


@pytest.mark.parametrize("how", ["slash", "message"])
async def test_a_file_that_discord_gives_out_an_hour_later_is_proposed(
    stage: DiscordStage, how: str
) -> None:
    outage = await waits_in_a_file(stage, how)
    outage.times = 0
    stage.clock.advance(AN_HOUR_S)
    await until(lambda: state_of_it(stage), "proposed")
    assert await stage.audit("refused") == []


async def test_what_a_bot_heard_that_was_down_for_an_hour_is_proposed(stage: DiscordStage) -> None:
    outage = await waits_in_a_file(stage, "message")
    stage.serving.cancel()
    with contextlib.suppress(BaseException):
        await stage.serving
    outage.times = 0
    stage.clock.advance(AN_HOUR_S)
    await stage.begins()
    await until(lambda: state_of_it(stage), "proposed")
    assert await stage.audit("refused") == []
