"""`signoff run`: what a start says, and which of them is not to be tried again."""

from __future__ import annotations

import json

from tests.bot.cli_house import House
from tests.by_hand import by_hand


def test_keys_that_starting_again_does_not_mend_are_a_config_that_cannot_be_used(
    house: House,
) -> None:
    """systemd starts a bot that ended with 1 again, every five seconds, for ever."""
    assert house.run("run", said="\n", SIGNOFF_PERMIT_SECRET="short").returncode == 2
    assert house.run("run", said="\n").returncode == 0
    (house.folder / "data" / "permit.keys").chmod(0o644)
    readable = house.run("run", said="\n")
    assert (readable.returncode, "chmod 600" in readable.stderr) == (2, True)


def test_a_start_says_that_its_database_is_a_new_one(house: House) -> None:
    """In the wrong folder, or after its disk was not mounted, nobody would miss what was there."""
    told = "data/signoff.db: a new one was made."

    assert told in house.run("run", said="\n").stderr
    assert told not in house.run("run", said="\n").stderr
    assert "no_database" not in json.loads(house.run("pending", "--json").stdout)
    assert json.loads(house.run("status", "--json").stdout)["no_database"] is None


def test_a_clock_behind_the_trail_is_said_at_the_start_and_by_status(house: House) -> None:
    house.run("propose", "examples/search.json", "--as", "leila")
    told = "and the trail has an entry of 2126-"
    assert told not in house.run("status").stdout

    rewritten = "UPDATE audit SET at = '2126' || substr(at, 5) WHERE seq = 2"
    by_hand(house.folder / "data" / "signoff.db", rewritten)
    started = house.run("run", said="\n").stderr

    assert started.count(told) == 1
    assert told in house.run("status").stdout
    assert told in json.loads(house.run("status", "--json").stdout)["clock_behind"]


def test_a_start_by_a_clock_that_was_set_forward_moves_what_is_open_and_says_so(
    house: House,
) -> None:
    """By an hour: the former process had read a wall clock that was so much behind."""
    house.run("propose", "examples/mail.json", "--as", "leila")
    told = "The machine's clock was set forward by 1 h 0 min"
    assert told not in house.run("run", said="\n").stdout

    earlier = "json_set(value, '$.clocks[0][1]', json_extract(value, '$.clocks[0][1]') - 3600000)"
    rewritten = f"UPDATE flags SET value = {earlier} WHERE name = 'clock'"
    by_hand(house.folder / "data" / "signoff.db", rewritten)
    started = house.run("run", said="\n").stdout

    assert told in started
    assert "1 deadline moved along" in started
    assert told in house.run("status").stdout
    assert told in json.loads(house.run("status", "--json").stdout)["clock_moved"]
    assert house.run("audit", "verify").returncode == 0
    assert told not in house.run("run", said="\n").stdout


def test_what_was_proposed_alone_is_shown_by_the_next_run(house: House) -> None:
    answer = json.loads(house.run("propose", "examples/mail.json", "--as", "leila").stdout)

    shown = house.run("run", said="\n").stdout

    assert answer["state"] == "sentinel_approved"
    assert f"approve {answer['proposal_id']}" in shown


def test_nobody_to_reach_the_bot_is_exit_2(house: House) -> None:
    path = house.folder / "config.yaml"
    path.write_text(path.read_text().replace("{enabled: auto}", "{enabled: false}"))

    done = house.run("run")

    assert done.returncode == 2
    assert "Nobody could reach the bot" in done.stderr
