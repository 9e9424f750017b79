"""A reload notes what may be a mistake in what is new, as a start does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.bootstrap import App, opened
from bot.config import load_config
from bot.storage.note import note_beside
from tests.fakes.notifier import PlainNotifier

DOOR = ("http: {enabled: false", "http: {enabled: true")
NOUR = 'nour: {discord: "912", roles: [reader, writer]'
SOLO = ("solo_operator: false", "solo_operator: true")


@pytest.fixture
async def bot(write_config: Callable[..., Path]) -> AsyncIterator[App]:
    config = load_config(write_config(DOOR))
    async with opened(config, {"DISCORD_TOKEN": "d"}, PlainNotifier()) as app:
        await app.workflow.start()
        yield app
        await app.workflow.shut_down(1)


def told_beside(bot: App) -> str:
    assert bot.config.database_file is not None
    return str((note_beside(bot.config.database_file) or {})["config"]["notes"])


async def test_an_agent_whose_token_the_running_bot_does_not_have_is_said(
    bot: App, write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set where `reload` is typed, which is not where the bot was started."""
    monkeypatch.setenv("T_NOUR", "a-token-that-nobody-guesses")
    write_config(DOOR, (NOUR, f"{NOUR}, token_env: T_NOUR"))

    told = await bot.reload()

    head, *notes = told.splitlines()
    assert head.startswith("The config is in force")
    assert notes == ["nour cannot speak over HTTP: T_NOUR is not set."]
    assert told_beside(bot) == notes[0]


async def test_an_owner_who_may_approve_from_now_on_is_said_once(
    bot: App, write_config: Callable[..., Path]
) -> None:
    words = "solo_operator is true: the owner of an agent may approve its proposals."
    write_config(DOOR, SOLO)

    assert (await bot.reload()).splitlines()[1:] == [words]
    assert (await bot.reload()).splitlines()[1:] == []
    assert told_beside(bot) == ""


async def test_nothing_is_said_of_doors_that_wait_for_the_next_start(
    bot: App, write_config: Callable[..., Path]
) -> None:
    write_config(("token_env: DISCORD_TOKEN", "token_env: ANOTHER_TOKEN"))

    told = await bot.reload()

    assert told.splitlines()[1:] == []
    assert told.endswith("only read at a start: chat, intake.")
