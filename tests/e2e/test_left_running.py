"""A bot killed while a program of its runs: the program ends before anything is called again."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psutil
import yaml

from tests.processes import DEADLINE_S, Process

#: Says which process it is, then works longer than any test.
LONG_WORK = "echo $$ >> begun\nexec sleep 600\n"
WHY = "The index is built anew after the move"


def with_long_work(bot: Process, *, idempotent: bool) -> None:
    """Let the tool `search` write, at length, and an example propose that."""
    (bot.folder / "work.sh").write_text(LONG_WORK)
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["tools"]["search"] = {
        "tier": "AUTO",
        "action_type": "write",
        "kind": "command",
        "execute": ["sh", "work.sh"],
        "idempotent": idempotent,
        "timeout_s": 300,
    }
    path.write_text(yaml.safe_dump(config))
    example = json.loads((bot.folder / "examples/search.json").read_text())
    changes = {"proposal_id": "work", "action_type": "write", "justification": WHY}
    (bot.folder / "examples/work.json").write_text(json.dumps(example | changes))


def begun(folder: Path, times: int) -> list[int]:
    """Wait until the work began so many times; return the processes."""
    late = time.monotonic() + DEADLINE_S
    while True:
        noted = (folder / "begun").read_text().split() if (folder / "begun").exists() else []
        if len(noted) >= times:
            return [int(number) for number in noted]
        assert time.monotonic() < late, "the work did not begin"
        time.sleep(0.02)


def lives(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_idempotent_program_is_called_again_only_when_the_first_is_dead(bot: Process) -> None:
    with_long_work(bot, idempotent=True)
    bot.start()
    bot.tell("leila: propose @examples/work.json")
    (first,) = begun(bot.folder, 1)
    bot.kill()
    assert lives(first)

    bot.start()

    begun(bot.folder, 2)
    assert not lives(first)


def test_a_program_is_found_although_its_database_goes_by_another_name(bot: Process) -> None:
    with_long_work(bot, idempotent=True)
    bot.start()
    bot.tell("leila: propose @examples/work.json")
    (first,) = begun(bot.folder, 1)
    bot.kill()
    (bot.folder / "data/current.db").symlink_to("signoff.db")
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(config | {"database": "sqlite:///data/current.db"}))

    bot.start()

    begun(bot.folder, 2)
    assert not lives(first)


def test_where_the_outcome_is_unknown_nothing_goes_on_behind_the_back_of_who_settles_it(
    bot: Process,
) -> None:
    with_long_work(bot, idempotent=False)
    bot.start()
    bot.tell("leila: propose @examples/work.json")
    (first,) = begun(bot.folder, 1)
    bot.kill()

    bot.start()
    bot.ask("status")

    shown = json.loads(bot.beside("--json", "show", "work").stdout)
    assert shown["attention"] == "outcome_unknown"
    assert not lives(first)
