"""A database file that has two names has one bot: beside its second name stands no lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_two_instances import refused
from tests.processes import Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has such locks")
WORDS = "under another name"


@pytest.fixture
def newer(bot: Process) -> Iterator[Process]:
    """A second bot on the folder of the first."""
    made = Process(bot.folder)
    yield made
    made.close()


def has_run_before(bot: Process) -> None:
    """Start it on a database that stands in its file, where another name finds it."""
    bot.start()
    assert bot.end_of_input() == 0
    bot.start()


def named_again(bot: Process) -> Path:
    """Give the bot's database a second name, as `cp -al` does, and write that into the config."""
    other = bot.folder / "elsewhere" / "signoff.db"
    other.parent.mkdir()
    other.hardlink_to(bot.folder / "data" / "signoff.db")
    config, url = bot.folder / "config.yaml", "sqlite:///data/signoff.db"
    text = config.read_text()
    assert text.count(url) == 1
    config.write_text(text.replace(url, "sqlite:///elsewhere/signoff.db"))
    return other


def test_no_second_bot_starts_on_a_database_under_another_name(
    bot: Process, newer: Process
) -> None:
    """It started, knew nothing of what the first one had in its log, and wrote over it."""
    has_run_before(bot)
    mail = bot.answer("leila: propose @examples/mail.json")["proposal_id"]
    other = named_again(bot)
    before = other.read_bytes()

    said = refused(newer)
    proposed = bot.beside("propose", "examples/mail.json", "--as", "leila")

    assert WORDS in said
    assert (proposed.returncode, WORDS in proposed.stderr) == (1, True)
    assert other.read_bytes() == before
    assert not other.with_name("signoff.db-wal").exists()
    assert "Approved by ana" in str(bot.ask(f"approve {mail}"))
    assert bot.end_of_input() == 0


def test_a_freeze_under_another_name_says_that_it_stops_nothing(bot: Process) -> None:
    """It was answered as done, and the bot, which reads its own log, never heard of it."""
    has_run_before(bot)
    bot.ask("status")
    other = named_again(bot)
    moved = bot.folder / "config-of-another.yaml"  # a bot is looked for by the config that it reads
    (bot.folder / "config.yaml").rename(moved)
    bot.environment["SIGNOFF_CONFIG"] = str(moved)

    frozen = bot.beside("freeze", "incident")

    assert (frozen.returncode, WORDS in frozen.stderr) == (1, True)
    assert not other.with_name("signoff.db-wal").exists()
    assert "Not frozen" in bot.ask("status")
    assert bot.end_of_input() == 0


def test_a_freeze_from_outside_the_container_of_the_bot_stops_it(bot: Process) -> None:
    """The number in the lock file means nothing there, and the freeze was refused for that."""
    has_run_before(bot)
    bot.ask("status")
    lock = bot.folder / "data" / "signoff.db.lock"
    with lock.open("r+b") as file:
        file.write(b"4194304\n")

    frozen = bot.beside("freeze", "incident")

    assert (frozen.returncode, frozen.stderr) == (0, "")
    assert "Frozen by ana" in str(bot.ask("status"))
    assert bot.end_of_input() == 0


def test_a_second_name_alone_keeps_no_bot_from_starting(bot: Process) -> None:
    """Each of the names is the database; `restore` leaves two if it is cut off before its end."""
    bot.start()
    bot.ask("status")
    bot.kill()
    (bot.folder / "second.db").hardlink_to(bot.folder / "data" / "signoff.db")

    bot.start()

    assert "Not frozen" in bot.ask("status")
    assert bot.beside("freeze", "incident").returncode == 0
    assert bot.beside("thaw").returncode == 0
    assert bot.end_of_input() == 0
