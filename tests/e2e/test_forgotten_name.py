"""A database that does not know any more how it was named loses no stop that waits for it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from tests.e2e.keeping import REASON, REJECTS, kept, lives
from tests.e2e.test_full_disk import begun, state
from tests.processes import Process

WITHOUT = "DELETE FROM flags WHERE name = 'database_id'"
WRITTEN_OVER = [
    WITHOUT,
    "UPDATE flags SET value = '{oops' WHERE name = 'database_id'",
    "UPDATE flags SET value = '7' WHERE name = 'database_id'",
]


def changed(bot: Process, sql: str, name: str = "data/signoff.db") -> None:
    with closing(sqlite3.connect(bot.folder / name)) as database, database:
        assert database.execute(sql).rowcount == 1


@pytest.mark.parametrize("sql", WRITTEN_OVER)
def test_a_stop_is_carried_out_although_the_name_of_its_database_was_written_over(
    bot: Process, sql: str
) -> None:
    mail = kept(bot, REJECTS)
    changed(bot, sql)

    told = json.loads(bot.beside("--json", "status").stdout)
    lives(bot)

    assert told["held"] == {"everything": False, "proposals": [mail]}
    assert state(bot, mail) == ("rejected", REASON)
    assert "does not know how it was named" in bot.complaints()


def test_a_stop_that_came_after_a_copy_without_a_name_is_carried_out_on_the_copy(
    bot: Process,
) -> None:
    """Such a copy was made by an older version, before the update that named the database."""
    mail = begun(bot)
    assert bot.beside("backup", "copy.db").returncode == 0
    changed(bot, WITHOUT, "copy.db")
    assert any("cannot be written" in each for each in bot.ask(f"ben: reject {mail} {REASON}"))
    bot.kill()
    assert bot.beside("restore", "copy.db").returncode == 0

    lives(bot)
    assert state(bot, mail) == ("rejected", REASON)


def test_nobody_lifts_a_freeze_beside_one_that_waits_for_a_database_without_its_name(
    bot: Process,
) -> None:
    kept(bot, "freeze incident 7")
    changed(bot, WITHOUT)

    assert bot.beside("thaw").returncode == 1
    lives(bot)
    assert json.loads(bot.beside("--json", "status").stdout)["frozen"]["reason"] == "incident 7"


def test_what_was_carried_out_for_a_forgotten_name_is_done_once(bot: Process) -> None:
    """Its line is left where it stands: it may be another database's all the same."""
    kept(bot, "freeze incident 7")
    changed(bot, WITHOUT)
    bot.start()
    bot.ask("thaw")
    assert bot.end_of_input() == 0

    lives(bot)
    assert json.loads(bot.beside("--json", "status").stdout)["frozen"] is None
    assert (bot.folder / "data/spool.jsonl").read_text().count("incident 7") == 1


def test_a_freeze_that_was_carried_out_for_a_forgotten_name_can_be_lifted_beside_the_bot(
    bot: Process,
) -> None:
    kept(bot, "freeze incident 7")
    changed(bot, WITHOUT)
    bot.start()
    bot.ask("status")

    assert json.loads(bot.beside("--json", "status").stdout)["held"] is None
    assert bot.beside("thaw").returncode == 0
    bot.kill()
    lives(bot)
    assert json.loads(bot.beside("--json", "status").stdout)["frozen"] is None


def test_a_bot_that_died_before_it_carried_out_what_waits_does_so_at_the_next_start(
    bot: Process,
) -> None:
    """Its database has got a new name by then."""
    mail = kept(bot, REJECTS)
    changed(bot, WITHOUT)
    waiting = (bot.folder / "data/spool.jsonl").read_bytes()
    bot.start()
    bot.ask("status")
    bot.kill()
    (bot.folder / "data/spool.jsonl").write_bytes(waiting.replace(mail.encode(), b"another"))

    assert bot.beside("--json", "status").returncode == 0
    told = json.loads(bot.beside("--json", "status").stdout)
    assert told["held"] == {"everything": False, "proposals": ["another"]}
