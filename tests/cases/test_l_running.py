"""Cases L on the whole process: it starts, shares, reloads and ends as it promised."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: A tool that says through a named pipe that it began, and takes its time.
SLOW = """\
import json, pathlib, sys, time
json.load(sys.stdin)
pathlib.Path("began").write_text("now")
time.sleep(float(sys.argv[1]))
pathlib.Path("ended").touch()
print(json.dumps({"affected_records": 1}))
"""
DEADLINE_S = 30


class RunningBot:
    """`signoff run` with a pipe at its input, and commands beside it."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        known = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        self._environment = {**known, "PYTHONPATH": str(root)}
        self._errors = (folder / "stderr.txt").open("w")
        self.process: subprocess.Popen[str] | None = None

    def start(self, *, listening: bool = True) -> None:
        self.process = subprocess.Popen(
            self._words("run"),
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        if listening:
            self.say("status")
            self.hear("Nothing needs a person's attention")

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, words: str) -> str:
        """Read on until a line holds `words`; the test's timeout ends waiting for ever."""
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f"the bot ended without saying {words!r}: {self.complaints()}")

    def complaints(self) -> str:
        return (self.folder / "stderr.txt").read_text()

    def beside(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(*words),
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def end(self, number: int) -> tuple[int, float]:
        """Send a signal; return exit code and seconds it took."""
        began_s = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        took_s = time.monotonic() - began_s
        self.process.stdin.close()
        self.process.stdout.close()
        return code, took_s

    def wait_until_it_began(self) -> None:
        """Wait for the slow tool: a named pipe opens once somebody stands at its other end."""
        assert (self.folder / "began").read_text() == "now"

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(DEADLINE_S)
            self.process.stdin.close()
            self.process.stdout.close()
        self._errors.close()

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "bot", *words]


@pytest.fixture
def bot(tmp_path: Path, root: Path):
    shutil.copy(root / "config.yaml", tmp_path)
    shutil.copytree(root / "examples", tmp_path / "examples")
    made = RunningBot(tmp_path, root)
    yield made
    made.close()


def slow_search(bot: RunningBot, seconds: float) -> None:
    """Let the tool `search` take its time."""
    (bot.folder / "slow.py").write_text(SLOW)
    os.mkfifo(bot.folder / "began")
    path = bot.folder / "config.yaml"
    line = 'execute: ["python3", "examples/tools/search.py"]'
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, f'execute: ["python3", "slow.py", "{seconds}"]'))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_L05_a_signal_ends_an_idle_bot_with_0_at_once(bot: RunningBot, number: int) -> None:
    bot.start()

    code, took_s = bot.end(number)

    assert code == 0, bot.complaints()
    assert took_s < 5
    assert "Traceback" not in bot.complaints()


def test_L05_a_call_under_way_may_end_after_the_signal(bot: RunningBot) -> None:
    slow_search(bot, 2)
    bot.start()
    bot.say("leila: propose @examples/search.json")
    bot.wait_until_it_began()

    code, took_s = bot.end(signal.SIGTERM)

    assert code == 0, bot.complaints()
    assert took_s < 10
    assert (bot.folder / "ended").exists()
    assert json.loads(bot.beside("show", "search", "--json").stdout)["state"] == "completed"
    assert bot.beside("audit", "verify").returncode == 0


def test_L05_a_call_that_does_not_end_is_left_and_the_next_start_takes_it_up(
    bot: RunningBot,
) -> None:
    slow_search(bot, 60)
    path = bot.folder / "config.yaml"
    path.write_text(path.read_text().replace("timeout_s: 10", "timeout_s: 60", 1))
    bot.start()
    bot.say("leila: propose @examples/search.json")
    bot.wait_until_it_began()

    code, took_s = bot.end(signal.SIGTERM)

    assert code == 0, bot.complaints()
    assert took_s < 10
    (bot.folder / "slow.py").write_text(SLOW.replace("time.sleep", ""))
    bot.start(listening=False)
    bot.wait_until_it_began()
    bot.say("status")
    bot.hear("Nothing needs a person's attention")
    assert bot.beside("audit", "verify").returncode == 0


def test_L05_a_start_that_fails_lets_go_of_the_database(bot: RunningBot) -> None:
    (bot.folder / "data").mkdir()
    (bot.folder / "data" / "permit.keys").write_text("no key at all\n")

    failed = bot.beside("propose", "examples/search.json", "--as", "leila")

    assert failed.returncode == 1
    assert "permit.keys" in failed.stderr
    (bot.folder / "data" / "permit.keys").unlink()
    assert bot.beside("propose", "examples/search.json", "--as", "leila").returncode == 0


def test_L05_a_second_bot_does_not_start_and_says_who_runs(bot: RunningBot) -> None:
    bot.start()

    second = bot.beside("propose", "examples/search.json", "--as", "leila")

    assert second.returncode == 1
    assert f"process {bot.process.pid}" in second.stderr
    assert bot.beside("restore", "examples/mail.json").returncode == 1
    assert json.loads(bot.beside("status", "--json").stdout)["pid"] == bot.process.pid
    assert bot.end(signal.SIGTERM)[0] == 0


def test_a_running_bot_obeys_a_freeze_from_the_command_line(bot: RunningBot) -> None:
    bot.start()

    assert bot.beside("freeze", "odd", "mails").returncode == 0
    bot.say("leila: propose @examples/search.json")
    assert json.loads(bot.hear('"proposal_id"'))["state"] == "sentinel_approved"
    assert bot.beside("thaw").returncode == 0
    bot.say("leila: propose @examples/tracker.json")
    assert json.loads(bot.hear('"proposal_id":"tracker'))["state"] == "completed"

    assert bot.end(signal.SIGTERM)[0] == 0
    assert bot.beside("audit", "verify").returncode == 0


def test_a_reload_takes_a_good_config_and_leaves_the_old_for_a_bad_one(bot: RunningBot) -> None:
    bot.start()
    path = bot.folder / "config.yaml"
    good = path.read_text()

    path.write_text(good.replace("solo_operator:", "solo_operater:"))
    bot.process.send_signal(signal.SIGHUP)
    bot.say("leila: propose @examples/search.json")
    assert json.loads(bot.hear('"proposal_id"'))["state"] == "completed"
    blocked = good.replace("search:\n    tier: AUTO", "search:\n    tier: BLOCK")
    path.write_text(blocked.replace("port: 8080", "port: 8081"))
    assert bot.beside("reload").returncode == 0
    bot.hear("A new policy is in force")
    bot.say("leila: propose @examples/search.json")
    assert json.loads(bot.hear('"proposal_id"'))["reason"] == "tool_blocked"

    assert bot.end(signal.SIGTERM)[0] == 0
    assert "the old one stays in force" in bot.complaints()
    assert "solo_operater" in bot.complaints()
    assert "only read at a start: intake" in bot.complaints()


def test_a_pipe_is_read_to_its_end_and_the_bot_ends_with_0(bot: RunningBot) -> None:
    bot.start()
    bot.say("leila: propose @examples/mail.json")
    bot.say("pending")
    bot.process.stdin.close()

    assert "1 pending" in bot.process.stdout.read()
    assert bot.process.wait(DEADLINE_S) == 0
