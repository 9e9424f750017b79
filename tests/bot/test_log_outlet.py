"""What is logged waits for nobody, and what nobody took is counted."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.log_outlet import LogOutlet
from tests.conftest import ROOT

#: A process that logs while it runs, while it ends, and while what it made is let go of.
ENDING = """
import atexit, logging, sys
log = logging.getLogger("signoff")
atexit.register(lambda: log.error("%s", sys.argv[1] * 200 + " it ended"))
from bot.cli.streams import guard_streams, unhindered_errors
class Made:
    def __del__(self, log=log): log.error("it was let go of")
guard_streams()
unhindered_errors()
logging.basicConfig(stream=sys.stderr, format="%(message)s")
made = Made()
log.error("%s", sys.argv[1] * 200 + " it ran")
sys.exit(1)
"""
LINE = "x" * 999 + "\n"


def read_until(descriptor: int, words: bytes) -> bytes:
    heard = b""
    while words not in heard:
        heard += os.read(descriptor, 65_536)
    return heard


def test_lines_that_nobody_took_are_counted_and_the_others_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LogOutlet, "most_bytes", 10_000)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"#" * 64)
        except BlockingIOError:
            os.set_blocking(writing, True)
        outlet = LogOutlet(stream)

        for _ in range(30):
            assert outlet.write(LINE) == len(LINE)
        heard = read_until(reading, b"x\n" * 1)
        while outlet.waiting_bytes:
            ready, _, _ = select.select([reading], [], [], 0.05)  # the last of it may be here
            heard += os.read(reading, 65_536) if ready else b""
        outlet.write("the last line\n")
        heard += read_until(reading, b"the last line\n")

    taken = heard.count(LINE.encode())
    assert 9 <= taken <= 12
    assert f"{30 - taken} lines of this log are lost: nobody took them.\n".encode() in heard
    os.close(reading)


def test_a_reader_who_left_is_missed_by_nobody() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        outlet = LogOutlet(stream)
        for _ in range(100):
            outlet.write(LINE)
            outlet.flush()
        with pytest.raises(BrokenPipeError):  # its thread is done with what closes here
            asyncio.run(outlet.settled())


def test_a_dying_process_finds_the_descriptor_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    with path.open("w") as stream:
        outlet = LogOutlet(stream)
        faulthandler.dump_traceback(outlet)
    assert "test_a_dying_process" in path.read_text()


def test_what_is_logged_while_the_process_ends_is_written_behind_the_rest() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, "x" * 99],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )

    said = [line.strip("x") for line in done.stderr.splitlines()]
    expected = [" it ran", " it ended", "it was let go of"]
    assert (done.returncode, said) == (1, expected), done.stderr[:1_000]


def test_an_end_waits_for_nobody_who_does_not_read() -> None:
    reading, writing = os.pipe()

    done = subprocess.run(
        [sys.executable, "-c", ENDING, "x" * 999], cwd=ROOT, stderr=writing, timeout=20, check=False
    )

    assert done.returncode == 1
    os.close(reading)
    os.close(writing)
