"""An answer of Slack's that does not say what was asked for is none: nothing is taken from it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.chat.slack.counted import DEPLOY, DUAL, counting, state
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.fakes.slack_server.methods import METHODS, Method
from tests.fakes.slack_server.workspace import User
from tests.slack_stage import OnSlack, eventually_async, on_slack

WINDOW_S = 900


def says(monkeypatch: pytest.MonkeyPatch, method: str, answer: dict[str, Any]) -> Method:
    """Let Slack answer a method with this alone; return what it does otherwise."""
    scope, real = METHODS[method]
    monkeypatch.setitem(METHODS, method, (scope, lambda _workspace, _arguments: answer))
    return real


def says_again(monkeypatch: pytest.MonkeyPatch, method: str, real: Method) -> None:
    monkeypatch.setitem(METHODS, method, (METHODS[method][0], real))


async def waits(slack: OnSlack) -> None:
    """Let what was heard be tried for a while."""
    for _ in range(10):
        slack.world.clock.advance(1)
        await slack.beats(1)
    await slack.world.workflow.open_ready()


@pytest.mark.parametrize(
    "answer", [{}, {"user": None}, {"user": []}, {"user": User("UBEN").as_json()}]
)
async def test_a_check_mark_counts_only_once_slack_says_whose_it_is(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.workspace.users["UANA"].guest = True
        real = says(monkeypatch, "users.info", answer)
        await slack.server.reacts("UANA", card.ts)
        await waits(slack)
        assert await state(slack) == "sentinel_approved"
        assert slack.world.tool(DEPLOY).calls == []

        says_again(monkeypatch, "users.info", real)
        await waits(slack)
        await slack.settles()
        assert await state(slack) == "sentinel_approved", "she is a guest"
        assert await counting(slack) == []


@pytest.mark.parametrize("answer", [{}, {"message": None}, {"message": {"ts": "1.000001"}}])
async def test_no_window_closes_over_a_card_that_slack_does_not_show(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        real = says(monkeypatch, "reactions.get", answer)
        slack.world.clock.advance(WINDOW_S + 1)
        await slack.world.workflow.close_due()
        assert await state(slack) == "executing"

        says_again(monkeypatch, "reactions.get", real)

        async def closed() -> bool:
            slack.world.clock.advance(5)
            await slack.world.workflow.close_due()
            return await state(slack) != "executing"

        await eventually_async(closed, "its end")
        assert await state(slack) == "rolled_back"


async def test_a_card_that_slack_does_not_show_takes_no_approval_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        says(monkeypatch, "reactions.get", {})
        slack.world.clock.advance(181)
        await slack.broadcast.catch_up()
        await slack.settles()
        assert await counting(slack) == ["ana"]
