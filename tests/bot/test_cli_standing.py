"""What the running bot tells beside its database: failing writes, and which config it has read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.bootstrap import App, opened
from bot.cli.app import app as signoff
from bot.config import load_config
from bot.storage.stop_lines import stops_in
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.cli_beside import FULL, bot_beside, said, spoil, status, submits_p1
from tests.bot.read_only import is_read_only
from tests.by_hand import by_hand
from tests.fakes.notifier import PlainNotifier

ANA = Sender("terminal", ActorKind.PERSON, "ana", account="ana")


@pytest.fixture
async def bot(write_config: Callable[..., Path]) -> AsyncIterator[App]:
    async with bot_beside(write_config()) as app:
        yield app


def room_of_lock(bot: App) -> int:
    """Return how many bytes the lock file has."""
    return Path(f"{bot.config.database_file}.lock").stat().st_size


async def test_status_says_that_the_store_cannot_be_written_as_long_as_that_lasts(bot: App) -> None:
    assert (await status(bot))[0]["unwritten"] is None
    by_hand(bot.config.database_file, FULL)
    room = room_of_lock(bot)

    for _ in range(2):
        assert (await bot.workflow.freeze("why", ANA)).words.startswith("Kept: the store cannot")
    found, words = await status(bot)
    assert room_of_lock(bot) == room, "a full disk has none to give"
    by_hand(bot.config.database_file, "DROP TRIGGER full")
    await bot.workflow.freeze("why", ANA)
    mended, plain = await status(bot)

    assert "disk full" in found["unwritten"]["why"]
    assert "The store cannot be written since" in words
    assert "2 attempts failed" in words
    assert mended["unwritten"] is None
    assert "cannot be written" not in plain


async def test_status_tells_machines_too_what_a_stop_that_waits_on_disk_holds(bot: App) -> None:
    await submits_p1(bot)
    assert (await status(bot))[0]["held"] is None
    by_hand(bot.config.database_file, FULL)
    await bot.workflow.reject("p1", ANA, "no")
    of_one = (await status(bot))[0]["held"]
    await bot.workflow.freeze("why", ANA)
    found, words = await status(bot)
    by_hand(bot.config.database_file, "DROP TRIGGER full")
    await bot.workflow.thaw(ANA)

    assert of_one == {"everything": False, "proposals": ["p1"]}
    assert found["held"] == {"everything": True, "proposals": ["p1"]}
    assert "Held, until a stop can be carried out: everything (freeze), p1" in words
    assert (await status(bot))[0]["held"] is None


async def test_status_shows_no_credential_that_was_typed_in_place_of_an_id(bot: App) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    await submits_p1(bot)
    by_hand(bot.config.database_file, FULL)
    await bot.workflow.reject("p1", ANA, "no")
    (stop,) = stops_in(bot.config.spool)
    bot.workflow.world.spool.keep({**stop, "proposal_id": token})  # as if no row could be read
    found, words = await status(bot)
    by_hand(bot.config.database_file, "DROP TRIGGER full")

    assert found["held"] == {"everything": False, "proposals": ["p1", "‹secret, 40 characters›"]}
    assert "p1, ‹secret, 40 characters›" in words
    assert token not in words + str(found)


async def test_status_says_that_the_disk_is_read_only_where_the_bot_itself_can_note_nothing(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read_only(monkeypatch)
    found, words = await status(bot)

    assert "is mounted read-only" in words
    assert "is mounted read-only" in found["unwritten"]["why"]


async def test_status_says_that_the_store_does_not_answer_until_it_does(bot: App) -> None:
    """The disk hangs: what the bot has handed to it waits."""
    world = bot.workflow.world
    world.troubles.store_hangs(world.clock.now_ms())
    found, words = await status(bot)
    world.troubles.store_answers()
    answers, _ = await status(bot)

    assert found["unwritten"]["why"] == "it does not answer"
    assert "The store does not answer since" in words
    assert answers["unwritten"] is None


async def test_status_says_that_the_bot_works_with_another_config_and_why(bot: App) -> None:
    assert (await status(bot))[0]["config"]["is_this"]

    spoil(bot, "proposal_ttl_s: 86400", "proposal_ttl_s: 600")
    changed, words = await status(bot)
    taken = await said(bot, "reload")
    current, _ = await status(bot)
    spoil(bot, "solo_operator: false", "solo_operater: false")
    await bot.reload()
    refused, why = await status(bot)

    assert not changed["config"]["is_this"]
    assert changed["config"]["refused"] is None
    assert f"not with {bot.config.path} now" in words
    assert (taken.exit_code, "as it is now" in taken.stdout) == (0, True)
    assert current["config"]["is_this"]
    assert not refused["config"]["is_this"]
    assert "solo_operater" in refused["config"]["refused"]["why"]
    assert "solo_operater: there is no such key" in why


@pytest.mark.parametrize("set_s", [-3_600, 3_600])
async def test_a_running_bot_is_found_though_the_wall_clock_was_set_since_it_began(
    bot: App, set_s: int, wall_set: Callable[[int], None]
) -> None:
    wall_set(set_s)

    assert "No bot runs" not in (await status(bot))[1]
    assert (await said(bot, "reload")).exit_code == 0


def as_before_a_new_start(lock: Path) -> None:
    """Let a lock file be of an earlier run of the machine."""
    number, birth, note = lock.read_bytes().split(b"\n", 2)
    boot, colon, ticks = birth.partition(b":")
    if not colon:
        pytest.skip("this kernel does not count from its boot")
    lock.write_bytes(b"\n".join((number, b"0" * len(boot) + colon + ticks, note)))


async def test_whoever_has_the_number_after_a_new_start_of_the_machine_is_not_the_bot(
    bot: App,
) -> None:
    """A crash leaves the lock file behind, and a machine starts the same things in the same way."""
    as_before_a_new_start(Path(f"{bot.config.database_file}.lock"))

    assert "No bot runs" in (await status(bot))[1]
    assert (await said(bot, "reload")).exit_code == 1


@pytest.mark.parametrize("there", [False, True], ids=["missing", "there"])
async def test_a_bot_on_the_database_of_before_is_found_and_no_other_one_frozen(
    bot: App, there: bool
) -> None:
    """`database` is read at the start alone; the shell reads what the file says now."""
    await bot.workflow.freeze("why", ANA)
    spoil(bot, "sqlite:///data/signoff.db", "sqlite:///data/other.db")
    other = bot.config.folder / "data" / "other.db"
    if there:
        async with opened(load_config(bot.config.path), {}, PlainNotifier()):
            pass
    held = f"on another database, {bot.config.database_file}"

    found, words = await status(bot)
    frozen, pending = await said(bot, "freeze", "now"), await said(bot, "pending", "--json")
    taken = await said(bot, "reload")
    stopped = await said(bot, "show", "nothing")

    assert held in found["running_elsewhere"]
    assert held in words
    assert "No bot runs" not in words
    assert (found["no_database"] is None) is there
    assert (frozen.exit_code, held in str(frozen.exception)) == (1, True)
    assert "Nothing was frozen or lifted" in str(frozen.exception)
    assert held in json.loads(pending.stdout)["running_elsewhere"]
    assert (taken.exit_code, "only read at a start: database" in taken.stdout) == (0, True)
    assert held in stopped.stderr
    assert other.exists() is there


async def test_a_bot_with_another_config_is_not_taken_for_this_one(
    bot: App,
) -> None:
    beside = bot.config.path.with_name("other.yaml")
    text = bot.config.path.read_text()
    beside.write_text(text.replace("sqlite:///data/signoff.db", "sqlite:///data/other.db"))

    told = await asyncio.to_thread(
        CliRunner().invoke, signoff, ["--config", str(beside), "status", "--json"]
    )
    reloaded = await asyncio.to_thread(
        CliRunner().invoke, signoff, ["--config", str(beside), "reload"]
    )

    assert json.loads(told.stdout)["running_elsewhere"] is None
    assert reloaded.exit_code == 1


async def test_a_bot_that_only_agents_reach_has_no_surface_and_status_says_so(bot: App) -> None:
    """Before, the list of its surfaces was announced and empty."""
    seen = '{"at_ms": 0, "names": [], "lines": [], "troubles": {}}'
    by_hand(bot.config.database_file, f"INSERT INTO flags VALUES ('surfaces', '{seen}')")

    assert "1970-01-01 00:00:00 UTC:\nnone: HTTP is on alone\n" in (await status(bot))[1]


async def test_status_tells_what_stops_hold_also_while_the_database_is_taken_away(bot: App) -> None:
    """They were told as those of another database, and the machine's answer had none of them."""
    await submits_p1(bot)
    file = bot.config.database_file
    away = file.rename(file.with_name("away.db"))
    assert (await bot.workflow.reject("p1", ANA, "no")).words.startswith("Kept")
    found, words = await status(bot)
    away.rename(file)

    assert found["held"] == {"everything": False, "proposals": ["p1"]}
    assert "Held, until a stop can be carried out: p1" in words
    assert "another database" not in words
