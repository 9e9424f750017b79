"""A copy that `backup` made is brought back by `restore` alone: put there by hand it would do again
whatever was done since."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml

from tests.processes import DEADLINE_S, Process


def counts_its_runs(bot: Process) -> None:
    """Let the deployment be a program that knows nothing of keys."""
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    tool = config["tools"]["production-deploy"]
    tool |= {"kind": "command", "execute": ["sh", "-c", "echo ran >> runs"]}
    for name in ("roll_back", "commit", "url", "class", "window_s"):
        tool.pop(name, None)
    path.write_text(yaml.safe_dump(config))


def runs(bot: Process) -> int:
    path = bot.folder / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def copied_and_done_since(bot: Process) -> str:
    """Copy what was approved under a freeze, lift it, and let it be done."""
    counts_its_runs(bot)
    bot.start()
    deploy = str(bot.answer("leila: propose @examples/deploy-production.json")["proposal_id"])
    bot.ask("freeze while we look")
    bot.ask(f"approve {deploy}")
    assert bot.beside("backup", "copy.db").returncode == 0
    bot.ask("thaw")
    bot.ask("status")
    assert bot.end_of_input() == 0
    assert runs(bot) == 1
    return deploy


def put_there_by_hand(folder: Path) -> None:
    for side in ("-wal", "-shm"):
        (folder / f"data/signoff.db{side}").unlink(missing_ok=True)
    shutil.copy(folder / "copy.db", folder / "data/signoff.db")


def test_a_copy_that_was_put_there_by_hand_does_nothing_again(bot: Process) -> None:
    deploy = copied_and_done_since(bot)
    put_there_by_hand(bot.folder)

    bot.start()
    bot.tell("thaw")
    assert bot.process is not None
    assert bot.process.stdin is not None
    bot.process.stdin.close()
    code = bot.process.wait(DEADLINE_S)

    assert runs(bot) == 1
    assert code == 1
    assert "restore" in bot.complaints()
    for words in (
        ("propose", "examples/mail.json", "--as", "leila"),
        ("freeze", "look"),
        ("thaw",),
    ):
        assert bot.beside(*words).returncode == 1
    assert json.loads(bot.beside("--json", "show", deploy).stdout)["state"] == "sentinel_approved"
    assert bot.beside("audit", "verify").returncode == 0


def test_a_copy_that_was_put_there_by_hand_can_be_brought_back_where_it_came_from(
    bot: Process,
) -> None:
    deploy = copied_and_done_since(bot)
    put_there_by_hand(bot.folder)

    assert bot.beside("restore", "copy.db").returncode == 0
    bot.start()
    assert any("sentinel_approved" in each for each in bot.ask(f"show {deploy}"))
    bot.ask("thaw")
    bot.ask("status")
    assert bot.end_of_input() == 0
    assert runs(bot) == 1, "its approval is void"
