"""`signoff reload` tells what became of the config, and nothing that nobody has said."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.bootstrap import App
from bot.config import load_config
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.cli_beside import FULL, Unanswered, bot_beside, said, spoil, status, submits_p1
from tests.bot.read_only import is_read_only
from tests.by_hand import by_hand

ANA = Sender("terminal", ActorKind.PERSON, "ana", account="ana")


@pytest.fixture
async def bot(write_config: Callable[..., Path]) -> AsyncIterator[App]:
    async with bot_beside(write_config()) as app:
        yield app


def is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bot not hear a reload, and `reload` not wait long for it."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, lambda: None)
    monkeypatch.setattr("bot.cli.starting._LOOKS", 2)


async def test_a_reload_that_no_bot_answers_is_not_told_as_done(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with 0 where the bot did not hear it: a tool that was to be stopped went on."""
    is_not_answered(monkeypatch)
    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")

    told = await said(bot, "reload")

    assert told.exit_code == 1
    assert "did not answer" in told.stderr


async def test_a_reload_that_the_bot_cannot_answer_on_a_read_only_disk_names_where_it_does(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The config was taken, and `reload` and `status` said as if it were not."""
    is_not_answered(monkeypatch)
    is_read_only(monkeypatch)

    told = await said(bot, "reload")

    assert told.exit_code == 1
    assert "is mounted read-only" in told.stderr
    assert "its log says it" in told.stderr
    assert "signoff status does not know either" in told.stderr


async def test_a_reload_that_waits_for_a_store_says_why(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_not_answered(monkeypatch)
    bot.workflow.world.troubles.store_hangs(bot.workflow.world.clock.now_ms())

    told = await said(bot, "reload")

    assert told.exit_code == 1
    assert "The store does not answer since" in told.stderr


async def test_a_reload_is_told_while_what_is_open_is_still_judged_again(bot: App) -> None:
    """With thousands open that takes a minute: `reload` gave up, and `status` told of the old."""
    await submits_p1(bot)
    assert (await bot.workflow.approve("p1", ANA)).done
    bot.workflow.world.notifier = Unanswered()
    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")

    taken = await said(bot, "reload")
    current, _ = await status(bot)

    assert (taken.exit_code, "as it is now" in taken.stdout) == (0, True)
    assert current["config"]["is_this"]


async def test_a_second_reload_waits_for_nothing_that_the_first_one_has_judged_again(
    bot: App,
) -> None:
    """Who took a mistake back at once was heard a minute later, and the mistake held that long."""
    await submits_p1(bot)
    assert (await bot.workflow.approve("p1", ANA)).done
    bot.workflow.world.notifier = Unanswered()
    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")
    await said(bot, "reload")
    spoil(bot, "proposal_ttl_s: 600", "proposal_ttl_s: 900")

    taken = await said(bot, "reload")

    assert (taken.exit_code, "as it is now" in taken.stdout) == (0, True)
    assert bot.workflow.policy.limits.proposal_ttl_s == 900


async def test_the_word_on_a_reload_of_before_is_no_answer_to_this_one(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was under way, with what stood there before the file was edited once more."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, lambda: None)
    before = load_config(bot.config.path)
    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")
    words = iter([before, load_config(bot.config.path)])
    monkeypatch.setattr(time, "sleep", lambda _s: bot.state.taken(next(words), (), ()))

    taken = await said(bot, "reload")

    assert (taken.exit_code, "as it is now" in taken.stdout) == (0, True)
    assert (await status(bot))[0]["config"]["is_this"]


async def test_a_reload_that_the_bot_refuses_is_exit_1_with_the_reason(bot: App) -> None:
    """The shell reads the file as well, but the bot may not be able to take it."""
    by_hand(bot.config.database_file, FULL)
    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")
    spoil(bot, "tier: AUTO,", "tier: AUTO+,")

    done = await said(bot, "reload")

    assert done.exit_code == 1
    assert "the old one stays in force" in done.stderr
    assert "disk full" in done.stderr
