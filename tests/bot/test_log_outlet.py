"""What is logged waits for nobody, and what nobody took is counted."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path

import pytest

from bot.cli import log_outlet
from bot.cli.log_outlet import LogOutlet

LINE = "x" * 999 + "\n"


def read_until(descriptor: int, words: bytes) -> bytes:
    heard = b""
    while words not in heard:
        heard += os.read(descriptor, 65_536)
    return heard


def test_lines_that_nobody_took_are_counted_and_the_others_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_outlet, "_MOST_BYTES", 10_000)
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
            heard += os.read(reading, 65_536)
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


def test_a_dying_process_finds_the_descriptor_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    with path.open("w") as stream:
        outlet = LogOutlet(stream)
        faulthandler.dump_traceback(outlet)
    assert "test_a_dying_process" in path.read_text()
