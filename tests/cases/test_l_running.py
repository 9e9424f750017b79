"""Cases L on the whole process: it starts, shares, reloads and ends as it promised."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.processes import Process

#: A tool that says through a named pipe that it began, and takes its time.
SLOW = """\
import json, pathlib, sys, time
json.load(sys.stdin)
pathlib.Path("began").write_text("now")
time.sleep(float(sys.argv[1]))
pathlib.Path("ended").touch()
print(json.dumps({"affected_records": 1}))
"""
#: Within so many seconds of SIGTERM the process has ended, whatever it was at.
TERM_S = 10


def changed(bot: Process, old: str, new: str) -> None:
    """Change the one place of the config at which `old` stands."""
    path = bot.folder / "config.yaml"
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


def slow_search(bot: Process, seconds: float) -> None:
    """Let the tool `search` take its time."""
    (bot.folder / "slow.py").write_text(SLOW)
    os.mkfifo(bot.folder / "began")
    quick = 'execute: ["python3", "examples/tools/search.py"]\n    timeout_s: 10'
    changed(bot, quick, f'execute: ["python3", "slow.py", "{seconds}"]\n    timeout_s: 60')


def wait_until_it_began(bot: Process) -> None:
    """Wait for the slow tool: a named pipe opens once somebody stands at its other end."""
    assert (bot.folder / "began").read_text() == "now"


def searching(bot: Process) -> None:
    """Start a bot and bring it into the middle of the slow tool's run."""
    bot.start()
    bot.tell("leila: propose @examples/search.json")
    wait_until_it_began(bot)


def state(bot: Process, proposal_id: str) -> tuple[object, object]:
    shown = json.loads(bot.beside("show", proposal_id, "--json").stdout)
    return shown["state"], shown["attention"]


def reaches(bot: Process, proposal_id: str, wanted: str) -> bool:
    """Look until the proposal is in this state."""
    return any(state(bot, proposal_id) == (wanted, None) for _ in range(100))


def sound(bot: Process) -> bool:
    """Say whether trail and rows agree."""
    return bot.beside("audit", "verify").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_L05_a_signal_ends_an_idle_bot_with_0_at_once(bot: Process, number: int) -> None:
    bot.start()
    bot.ask("status")

    bot.send(number)

    assert bot.ends_within(5) == 0, bot.complaints()
    assert "Traceback" not in bot.complaints()


def test_L05_a_signal_leaves_an_open_window_to_the_next_start(bot: Process) -> None:
    bot.start()
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    bot.ask(f"approve {mail}")
    assert reaches(bot, mail, "executing")  # it may still have waited for its card

    bot.send(signal.SIGTERM)

    assert bot.ends_within(TERM_S) == 0, bot.complaints()
    bot.start()
    bot.ask(f"roll-back {mail} it was wrong")
    assert reaches(bot, mail, "rolled_back")
    assert sound(bot)


def test_L05_a_call_under_way_may_end_after_the_signal_and_nothing_new_is_taken(
    bot: Process,
) -> None:
    slow_search(bot, 2)
    bot.start()
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    bot.tell("leila: propose @examples/search.json")
    wait_until_it_began(bot)

    bot.send(signal.SIGTERM)
    bot.tell("leila: propose @examples/tracker.json")
    bot.tell(f"approve {mail}")

    assert bot.ends_within(TERM_S) == 0, bot.complaints()
    assert (bot.folder / "ended").exists()
    assert state(bot, "search") == ("completed", None)
    assert state(bot, mail) == ("sentinel_approved", None)
    assert bot.beside("show", "tracker").returncode == 1
    assert sound(bot)


def test_L05_a_call_that_does_not_end_is_left_and_the_next_start_takes_it_up(
    bot: Process,
) -> None:
    slow_search(bot, 60)
    searching(bot)

    bot.send(signal.SIGTERM)

    assert bot.ends_within(TERM_S) == 0, bot.complaints()
    (bot.folder / "slow.py").write_text(SLOW.replace("time.sleep", ""))
    bot.start()
    wait_until_it_began(bot)
    assert "Nothing needs a person's attention" in bot.ask("status")
    assert sound(bot)


def test_L05_a_start_that_fails_lets_go_of_the_database(bot: Process) -> None:
    keys = bot.folder / "data" / "permit.keys"
    keys.parent.mkdir()
    keys.write_text("no key at all\n")
    keys.chmod(0o600)

    bot.start()

    assert bot.ends_within(TERM_S) > 0
    assert "permit.keys" in bot.complaints()
    assert "Traceback" not in bot.complaints()
    keys.unlink()
    assert bot.beside("propose", "examples/search.json", "--as", "leila").returncode == 0
    assert sound(bot)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_L05_what_a_failing_start_has_taken_up_may_come_to_its_end(
    bot: Process, taken_port: int
) -> None:
    slow_search(bot, 1)
    searching(bot)
    bot.kill()
    changed(bot, "http: {enabled: false", "http: {enabled: true")
    changed(bot, "port: 8080", f"port: {taken_port}")

    bot.start()
    wait_until_it_began(bot)

    assert bot.ends_within(TERM_S) == 1
    assert f"cannot listen on 127.0.0.1:{taken_port}" in bot.complaints()
    assert (bot.folder / "ended").exists()
    assert state(bot, "search") == ("completed", None)
    assert sound(bot)


#: Has a program see its second file in the place of its first, and nobody else.
SINGLE_FILE = ("unshare", "-rm", "sh", "-c", 'mount --bind "$2" "$1" && shift 2 && exec "$@"', "sh")


def test_L07_a_database_that_is_mounted_as_a_single_file_stops_the_start(bot: Process) -> None:
    file, outside = bot.folder / "data" / "signoff.db", bot.folder / "outside.db"
    file.parent.mkdir()
    for each in (file, outside):
        each.touch()
    mounted = (*SINGLE_FILE, str(file), str(outside))
    if subprocess.run([*mounted, "true"], check=False, capture_output=True).returncode:
        pytest.skip("This machine lets nobody mount.")

    refused = bot.beside("propose", "examples/search.json", "--as", "leila", inside=mounted)

    assert refused.returncode == 1
    assert "mounted as a single file" in refused.stderr
    assert "Mount the folder" in refused.stderr
    assert [path.name for path in file.parent.iterdir()] == ["signoff.db"]
    assert outside.stat().st_size == 0


def test_L05_a_second_bot_does_not_start_and_says_who_runs(bot: Process) -> None:
    bot.start()
    bot.ask("status")
    assert bot.process is not None

    second = bot.beside("propose", "examples/search.json", "--as", "leila")

    assert second.returncode == 1
    assert f"process {bot.process.pid}" in second.stderr
    assert bot.beside("restore", "examples/mail.json").returncode == 1
    assert json.loads(bot.beside("status", "--json").stdout)["pid"] == bot.process.pid


def test_a_running_bot_obeys_a_freeze_from_the_command_line(bot: Process) -> None:
    bot.start()
    bot.ask("status")

    assert bot.beside("freeze", "odd", "mails").returncode == 0
    assert bot.answer("leila: propose @examples/search.json")["state"] == "sentinel_approved"
    assert bot.beside("thaw").returncode == 0
    assert bot.answer("leila: propose @examples/tracker.json")["state"] == "completed"

    assert bot.end_of_input() == 0
    assert sound(bot)


def test_a_reload_takes_a_good_config_and_leaves_the_old_for_a_bad_one(bot: Process) -> None:
    bot.start()
    bot.ask("status")
    good = (bot.folder / "config.yaml").read_text()

    changed(bot, "solo_operator:", "solo_operater:")
    bot.send(signal.SIGHUP)
    bot.complains_of("the old one stays in force")
    assert bot.answer("leila: propose @examples/search.json")["state"] == "completed"
    (bot.folder / "config.yaml").write_text(good)
    changed(bot, "search:\n    tier: AUTO", "search:\n    tier: BLOCK")
    changed(bot, "port: 8080", "port: 8081")
    assert bot.beside("reload").returncode == 0
    bot.hear("A new policy is in force")
    assert bot.answer("leila: propose @examples/search.json")["reason"] == "tool_blocked"

    assert bot.end_of_input() == 0
    assert "solo_operater" in bot.complaints()
    assert "only read at a start: intake" in bot.complaints()


def test_a_pipe_is_read_to_its_end_and_the_bot_ends_with_0(bot: Process) -> None:
    bot.start()
    bot.tell("leila: propose @examples/mail.json")
    bot.tell("pending")

    lines, code = bot.rest()

    assert "1 pending" in lines
    assert code == 0
