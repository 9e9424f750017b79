"""What the log says of a gateway that is away: one line an attempt, and no traceback."""

from __future__ import annotations

import pytest

from tests.fakes.discord_stage import DiscordStage, until


async def test_an_attempt_at_a_gateway_that_is_away_is_one_line_of_the_log(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.server.gateway.accepts = False
    stage.server.gateway.cut()

    def tried() -> list[str]:
        lines = [r for r in caplog.records if r.msg.startswith("Attempting a reconnect")]
        assert not any(r.exc_info or r.exc_text for r in lines)
        return [r.getMessage() for r in lines if "WSServerHandshakeError" in r.getMessage()]

    assert "\n" not in (await until(tried, "an attempt"))[0]
