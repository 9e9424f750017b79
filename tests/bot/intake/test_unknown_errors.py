"""An error that nobody foresaw is told alike at every door, and what it says to nobody."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_mcp import called, over_http

INSIDE = "postgres://u:pw@h/d"


@pytest.mark.parametrize("error", [MemoryError(INSIDE), RecursionError(INSIDE), KeyError(INSIDE)])
async def test_an_error_that_nobody_foresaw_says_no_more_than_to_try_again(
    outside: Outside,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    async def fails(_view: Any) -> None:
        raise error

    monkeypatch.setattr(outside.world.store, "read", fails)
    async with outside.client() as http, over_http(outside, "leila-token") as client:
        answer = await http.get("/v1/proposals/p1")
        with pytest.raises(MCPError, match="nothing more is told here") as told:
            await called(client, "proposal", proposal_id="p1")

    assert (answer.status_code, answer.json()["retry"]) == (500, "later")
    assert INSIDE not in answer.text + str(told.value) + caplog.text
    assert caplog.text.count("an operation failed") == 2
    assert "Traceback" not in caplog.text
