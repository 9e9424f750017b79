"""A bot whose disk is full while a tool works: it hears, says what is true, and loses no stop."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.processes import DEADLINE_S, Process

#: Works until it is told that it may end.
WORK = "touch begun\nuntil [ -e go ]; do sleep 0.02; done\n"
WHY = "The index is built anew after the move"


def with_work(bot: Process) -> None:
    """Let a mail's sibling, an AUTO tool, work until the test says so."""
    (bot.folder / "work.sh").write_text(WORK)
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["tools"]["search"] = {
        "tier": "AUTO",
        "action_type": "write",
        "kind": "command",
        "execute": ["sh", "work.sh"],
        "timeout_s": 300,
    }
    path.write_text(yaml.safe_dump(config))
    example = json.loads((bot.folder / "examples/search.json").read_text())
    changes = {"proposal_id": "work", "action_type": "write", "justification": WHY}
    (bot.folder / "examples/work.json").write_text(json.dumps(example | changes))


def wait_for(path: Path) -> None:
    late = time.monotonic() + DEADLINE_S
    while not path.exists():
        assert time.monotonic() < late, f"no {path.name}"
        time.sleep(0.02)


def room(bot: Process, size: int) -> None:
    """Let no file of the bot grow beyond `size` bytes."""
    assert bot.process is not None
    _, most = resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE, (size, most))


def full(bot: Process) -> None:
    """Leave the database no room; a small file, as that of the stops, still has some."""
    room(bot, (bot.folder / "data/signoff.db-wal").stat().st_size)


def state(bot: Process, proposal_id: str) -> tuple[object, object]:
    shown = json.loads(bot.beside("--json", "show", proposal_id).stdout)
    return shown["state"], shown["explanation"]


def begun(bot: Process) -> str:
    """Start a bot with an open mail and a tool at work; return the mail."""
    with_work(bot)
    bot.start()
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    bot.tell("leila: propose @examples/work.json")
    wait_for(bot.folder / "begun")
    full(bot)
    (bot.folder / "go").touch()
    return mail


def test_a_stop_typed_while_the_disk_is_full_outlives_the_process(bot: Process) -> None:
    mail = begun(bot)

    kept = bot.ask(f"ben: reject {mail} stop this mail")
    frozen = bot.ask("freeze now")
    looked = bot.ask("pending")
    bot.kill()
    bot.start()
    status = bot.ask("status")

    for stop in (kept, frozen):
        assert any(line.startswith("Kept: the store cannot be written now") for line in stop)
    assert "1 pending" in looked
    assert state(bot, mail) == ("rejected", "stop this mail")
    assert any(line.startswith("FROZEN by ana") for line in status)
    assert bot.beside("audit", "verify").returncode == 0


def test_the_command_line_denies_no_freeze_that_waits_for_the_bot(bot: Process) -> None:
    begun(bot)
    bot.ask("freeze now")
    bot.kill()

    status, thaw = bot.beside("status"), bot.beside("thaw")
    bot.start()
    bot.ask("status")
    lifted = bot.beside("thaw")

    assert "Held, until a stop can be carried out: everything (freeze)" in status.stdout
    assert "Not frozen" not in status.stdout
    assert (thaw.returncode, "Nothing was lifted" in thaw.stderr) == (1, True)
    assert (lifted.returncode, lifted.stdout[:13]) == (0, "Thawed by ana")


def test_what_a_tool_did_is_written_and_told_once_the_disk_is_freed(bot: Process) -> None:
    mail = begun(bot)
    lines = bot.ask(f"ben: reject {mail} stop this mail")

    room(bot, resource.RLIM_INFINITY)
    more, code = bot.rest()
    lines += more
    assert code == 0

    bot.start()
    bot.ask("status")

    told = [json.loads(line) for line in lines if line.startswith('{"proposal_id":"work"')]
    assert [each["state"] for each in told] == ["completed"]
    assert state(bot, mail) == ("rejected", "stop this mail")
    assert len([line for line in lines if "The store cannot be written since" in line]) == 1
    assert len([line for line in lines if "The store can be written again" in line]) == 1
    assert bot.beside("audit", "verify").returncode == 0


#: Has a program see a folder on a disk that is mounted read-only, and nobody else.
READ_ONLY = (
    *("unshare", "-rm", "sh", "-c"),
    'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@"',
    "sh",
)


def test_a_freeze_on_a_disk_that_takes_no_writes_names_the_disk_and_no_other_account(
    bot: Process,
) -> None:
    """ "This account may not" was said to the very account that runs the bot."""
    bot.start()
    assert bot.end_of_input() == 0
    mounted = (*READ_ONLY, str(bot.folder))
    if subprocess.run([*mounted, "true"], check=False, capture_output=True).returncode:
        pytest.skip("This machine lets nobody mount.")

    refused = bot.beside("freeze", "fire", inside=mounted)

    assert refused.returncode == 1
    assert "Its disk is mounted read-only: mount it for writing" in refused.stderr
    assert "account" not in refused.stderr
