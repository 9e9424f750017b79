"""What the system refuses an operator is a sentence with a remedy, never an unknown error."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli.app import _told
from tests.bot.test_cli_sealed import unprivileged
from tests.stage import staged

COMMANDS = [
    ("status",),
    ("freeze", "fire"),
    ("pending",),
    ("show", "mail"),
    ("audit", "verify"),
    ("backup", "{folder}/copy.db"),
]


@pytest.fixture
async def config(write_config: Callable[..., Path]) -> Path:
    """A config with a database in which a mail waits."""
    config = write_config()
    async with staged("sqlite:///data/signoff.db", config.parent) as world:
        await world.submits(proposal_id="mail")
    return config


def run(
    config: Path, *words: str, prepared: Callable[[], None] = lambda: None
) -> subprocess.CompletedProcess[str]:
    line = [word.format(folder=config.parent) for word in words]
    return subprocess.run(
        unprivileged(sys.executable, "-m", "bot", "--config", str(config), *line),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=prepared,
    )


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("closed", "helps"),
    [("data", "its own folder: chmod u+rwx "), ("data/signoff.db", "account that runs the bot")],
)
def test_who_may_not_look_at_the_database_is_told_what_helps_or_whose_account_may(
    config: Path, closed: str, helps: str, words: tuple[str, ...]
) -> None:
    place = config.parent / closed
    mode = place.stat().st_mode
    place.chmod(0)
    try:
        done = run(config, *words)
    finally:
        place.chmod(mode)

    assert done.returncode == 1, done
    assert helps in done.stderr
    assert "does not know" not in done.stderr


def test_the_account_of_the_bot_is_not_told_to_call_as_the_account_of_the_bot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was, about a folder of somebody else into which it wanted to write a copy."""
    assert _told(PermissionError(13, "Permission denied", "/of/others/copy.db")) == 1

    words = "/of/others/copy.db cannot be used: Permission denied. If it is the bot's, call Signoff"
    assert capsys.readouterr().err.startswith(words)


def no_file() -> None:
    """Let no file be written, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("words", [("pending",), ("freeze", "fire"), ("audit", "verify")])
def test_a_full_disk_is_not_taken_for_a_broken_one(config: Path, words: tuple[str, ...]) -> None:
    done = run(config, *words, prepared=no_file)

    assert done.returncode == 1, done
    assert "If its disk is full, free some of it" in done.stderr


@pytest.mark.parametrize("longest_bytes", [4096, 8192, 16_384, 32_768])
def test_a_first_start_that_may_write_no_long_file_is_not_told_of_lost_commits(
    write_config: Callable[..., Path], longest_bytes: int
) -> None:
    """The index of the log was begun, and taken for one that knows commits."""

    def short_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (longest_bytes, longest_bytes))

    config = write_config(("terminal: {enabled: auto}", "terminal: {enabled: true}"))
    done = run(config, "run", prepared=short_files)

    assert done.returncode == 1, done
    assert "If its disk is full, free some of it" in done.stderr
    assert "commits" not in done.stderr


def test_where_no_file_can_be_written_the_lock_is_what_is_named(config: Path) -> None:
    """Before, Python found no folder for its report of an unknown error, and gave a traceback."""
    copy = shutil.copy(config.parent / "data/signoff.db", config.parent / "copy.db")
    done = run(config, "restore", str(copy), prepared=no_file)

    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    assert "signoff.db.lock cannot be written" in done.stderr
