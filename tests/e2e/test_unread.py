"""Whoever does not read what the bot says, and a disk that does not take it, stop no bot."""

from __future__ import annotations

import os
import pty
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.processes import DEADLINE_S, Process

#: Larger than anything else that the bot writes, so that a limit stops this file alone.
LARGE = 8 * 1024 * 1024
RELOADED = "The config is in force"


def wait_until(held: Callable[[], bool], what: str) -> None:
    late = time.monotonic() + DEADLINE_S
    while not held():
        assert time.monotonic() < late, what
        time.sleep(0.02)


def fill(descriptor: int) -> None:
    """Leave no room in a pipe."""
    os.set_blocking(descriptor, False)
    try:
        while True:
            os.write(descriptor, b"#" * 63 + b"\n")
    except BlockingIOError:
        os.set_blocking(descriptor, True)


def read_until(descriptor: int, words: bytes) -> None:
    """Read what the bot writes until it says this."""
    heard = b""
    while words not in heard:
        more = os.read(descriptor, 65_536)
        assert more, f"it ended: {heard!r}"
        heard += more


def begin(bot: Process, **streams: int | IO[bytes]) -> None:
    """Start it with other streams than pipes."""
    bot.environment["TERM"] = "xterm"
    bot.start(**streams)


def runs(bot: Process) -> bool:
    return "A bot runs" in bot.beside("status").stdout


def test_a_log_that_nobody_reads_holds_up_neither_people_nor_the_end(bot: Process) -> None:
    reading, writing = os.pipe()
    begin(bot, stderr=writing)
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    fill(writing)
    assert bot.beside("reload").returncode == 0  # which is logged

    bot.tell(f"ben: reject {mail} not now")
    wait_until(lambda: '"rejected"' in bot.beside("show", "--json", mail).stdout, "it is deaf")
    bot.send(signal.SIGTERM)

    assert bot.ends_within(10) == 0
    os.close(reading)
    os.close(writing)


def test_a_log_goes_on_as_soon_as_it_is_read_again(bot: Process) -> None:
    reading, writing = os.pipe()
    begin(bot, stderr=writing)
    bot.ask("status")
    fill(writing)
    assert bot.beside("reload").returncode == 0

    read_until(reading, RELOADED.encode())

    assert bot.end_of_input() == 0
    os.close(reading)
    os.close(writing)


def test_a_terminal_that_takes_nothing_holds_up_neither_the_bot_nor_its_end(bot: Process) -> None:
    keyboard, terminal = pty.openpty()
    begin(bot, stdin=terminal, stdout=terminal)
    read_until(keyboard, b"signoff>")

    def full() -> bool:
        os.write(keyboard, b"help\r")  # and nobody reads what is answered
        return not select.select([], [terminal], [], 0)[1]

    wait_until(full, "somebody takes the answers")
    assert bot.beside("reload").returncode == 0  # its loop turns

    bot.send(signal.SIGTERM)

    assert bot.ends_within(10) == 0
    os.close(keyboard)
    os.close(terminal)


def limited(bot: Process, size: int) -> None:
    """Let no file of the bot grow beyond `size` bytes."""
    assert bot.process is not None
    _, most = resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE, (size, most))


def said_since(path: Path, size: int) -> str:
    return path.read_bytes()[size:].decode()


def test_answers_for_which_the_disk_was_full_are_written_once_it_is_freed(bot: Process) -> None:
    path = bot.folder / "said.txt"
    path.write_bytes(b"\n" * LARGE)
    with path.open("ab") as said:
        begin(bot, stdout=said)
        bot.tell("pending")
        wait_until(lambda: "0 pending" in said_since(path, LARGE), "it does not begin")
        size = path.stat().st_size
        limited(bot, size)
        bot.tell("policy")
        words = "standard output cannot be written (File too large): free some of its disk"
        wait_until(lambda: words in bot.complaints(), "nobody is told")

        limited(bot, resource.RLIM_INFINITY)
        bot.tell("pending")
        wait_until(lambda: "0 pending" in said_since(path, size), "the terminal is gone")

        assert said_since(path, size).startswith("Policy pol1_")
        assert bot.process is not None
        bot.process.stdin.close()  # type: ignore[union-attr]
        assert bot.ends_within(10) == 0


def test_answers_that_a_full_disk_never_took_are_told_to_be_lost(bot: Process) -> None:
    path = bot.folder / "said.txt"
    path.write_bytes(b"\n" * LARGE)
    with path.open("ab") as said:
        begin(bot, stdout=said)
        wait_until(lambda: runs(bot), "it does not begin")
        limited(bot, LARGE)
        bot.tell("pending")
        assert bot.process is not None
        bot.process.stdin.close()  # type: ignore[union-attr]

        assert bot.ends_within(20) == 0
    assert "bytes of what was answered are lost; what was done stays done" in bot.complaints()


def test_a_log_goes_on_once_its_disk_is_freed(bot: Process) -> None:
    path = bot.folder / "log.txt"
    path.write_bytes(b"\n" * LARGE)
    with path.open("ab") as log:
        begin(bot, stderr=log)
        bot.ask("status")
        size = path.stat().st_size
        limited(bot, size)
        assert bot.beside("reload").returncode == 0
        bot.ask("status")

        limited(bot, resource.RLIM_INFINITY)
        wait_until(lambda: RELOADED in said_since(path, size), "the log is silent for ever")
        assert bot.end_of_input() == 0


#: Runs a program that reads its config as its input and may open few files.
FEW_FILES = """
import os, resource, sys
os.dup2(os.open("config.yaml", os.O_RDONLY), 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("files", ["8", "10"])
def test_a_start_that_may_open_too_few_files_says_which_limit_to_raise(
    bot: Process, files: str
) -> None:
    done = bot.beside("run", inside=(sys.executable, "-c", FEW_FILES, files))

    assert done.returncode == 1
    assert "raise that limit (ulimit -n, or LimitNOFILE= of its unit)" in done.stderr
    assert "Traceback" not in done.stderr
