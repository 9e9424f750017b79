"""Two configs in one folder share its `data/`: what waits there for one database is of no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.keeping import REASON, REJECTS, kept, lives
from tests.e2e.test_full_disk import state
from tests.processes import Process


@pytest.fixture
def other(bot: Process) -> Iterator[Process]:
    """A bot for trying out, with a database of its own in the folder of the first."""
    made = Process(bot.folder)
    database_is(made, "sqlite:///data/other.db")
    yield made
    made.close()


def database_is(other: Process, database: str) -> None:
    lines = (other.folder / "config.yaml").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("database:")]
    config = other.folder / "other.yaml"
    config.write_text("\n".join([*kept, f'database: "{database}"', ""]))
    other.environment["SIGNOFF_CONFIG"] = str(config)


def fixed_id(folder: Path) -> None:
    """Let the mail have the id that its agent gives to everything."""
    path = folder / "examples/mail.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"proposal_id": "p1"}))


@pytest.mark.parametrize("database", ["sqlite:///data/other.db", "memory:"])
def test_a_stop_that_waits_for_one_database_is_left_to_it(
    bot: Process, other: Process, database: str
) -> None:
    """It was forgotten as that of a proposal which nobody knows."""
    mail = kept(bot, REJECTS)
    database_is(other, database)

    lives(other)
    bot.start()
    assert bot.end_of_input() == 0

    assert state(bot, mail) == ("rejected", REASON)
    assert "wait for a bot of another database" in other.complaints()


def test_a_stop_of_a_proposal_stops_no_other_that_has_the_same_id(
    bot: Process, other: Process
) -> None:
    fixed_id(bot.folder)
    other.start()
    assert other.answer("leila: propose @examples/mail.json")["proposal_id"] == "p1"
    assert other.end_of_input() == 0
    kept(bot, "ben: reject p1 " + REASON)

    lives(other)

    assert state(other, "p1")[0] == "sentinel_approved"


def test_a_freeze_that_waits_for_one_database_freezes_no_other_and_keeps_none_frozen(
    bot: Process, other: Process
) -> None:
    kept(bot, "freeze incident 7")

    lives(other)
    assert "wait for a bot of another database: 1" in other.beside("status").stdout
    told = json.loads(other.beside("--json", "status").stdout)
    assert (told["frozen"], told["held"]) == (None, None)
    other.beside("freeze", "to lift it again")
    assert other.beside("thaw").returncode == 0

    assert bot.beside("thaw").returncode == 1, "it waits for its bot"
    bot.start()
    assert bot.end_of_input() == 0
    assert json.loads(bot.beside("--json", "status").stdout)["frozen"]["reason"] == "incident 7"


def test_a_stop_that_waits_for_a_database_is_not_taken_by_a_copy_of_it_that_is_tried_out(
    bot: Process, other: Process
) -> None:
    """It was carried out there, and forgotten by the one whose tools would go on."""
    mail = kept(bot, REJECTS, copied_to="copy.db")

    assert other.beside("restore", "copy.db").returncode == 0
    lives(other)
    lives(bot)

    assert state(bot, mail) == ("rejected", REASON)
    assert state(other, mail) == ("rejected", REASON), "it may be the one that goes on"


def test_a_copy_in_the_place_of_its_database_goes_on_as_that_one(bot: Process) -> None:
    mail = kept(bot, REJECTS, copied_to="copy.db")

    assert bot.beside("restore", "copy.db").returncode == 0
    lives(bot)
    assert state(bot, mail) == ("rejected", REASON)
    assert (bot.folder / "data/spool.jsonl").read_bytes() == b""
