"""The note of the running bot holds up nothing, whatever its disk does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.storage.lock import FileLock
from bot.storage.note import Note, note_beside


class Disk:
    """While it hangs, whoever writes at an offset waits, as if behind `fsfreeze`."""

    def __init__(self) -> None:
        self._write = os.pwrite
        self.answers, self.was_asked = threading.Event(), threading.Event()
        self.answers.set()

    def pwrite(self, *given: Any) -> int:
        self.was_asked.set()
        self.answers.wait(60)
        return self._write(*given)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(os, "pwrite", made.pwrite)
    yield made
    made.answers.set()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    lock = FileLock(tmp_path / "signoff.db")
    lock.take()
    yield tmp_path / "signoff.db"
    lock.release()


def ended() -> None:
    """Wait until no thread writes a note any more."""
    for thread in threading.enumerate():
        if thread.name == "signoff-note":
            thread.join(20)
            assert not thread.is_alive()


def test_a_note_is_written_when_the_bot_goes_on(database: Path) -> None:
    note = Note(database)
    for number in range(100):
        note.write({"number": number})
        assert note_beside(database) == {"number": number}
    note.close()


def test_a_disk_that_hangs_holds_up_the_note_alone_and_gets_the_newest_once_it_answers(
    database: Path, disk: Disk
) -> None:
    """The bot hung with it as it was about to tell people that the store does not answer."""
    note = Note(database)
    disk.answers.clear()
    begun_s = time.monotonic()
    for number in range(100):
        note.write({"number": number})
    assert time.monotonic() - begun_s < 20, "each of them waited for the disk"
    assert disk.was_asked.is_set()
    assert not note_beside(database)

    disk.answers.set()
    note.close()
    ended()

    assert note_beside(database) == {"number": 99}


def test_a_note_that_is_closed_while_the_disk_hangs_leaves_nothing_open_once_it_answers(
    database: Path, disk: Disk
) -> None:
    opened = len(list(Path("/dev/fd").iterdir()))
    note = Note(database)
    disk.answers.clear()
    note.write({"number": 1})
    note.write({"number": 2})
    note.close()

    disk.answers.set()

    ended()
    assert note_beside(database) == {"number": 2}
    assert len(list(Path("/dev/fd").iterdir())) == opened


def test_a_machine_that_starts_no_threads_gets_no_note_and_keeps_no_file_open(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    opened = len(list(Path("/dev/fd").iterdir()))
    monkeypatch.setattr(threading.Thread, "start", refused)
    note = Note(database)
    note.write({"number": 1})
    note.close()

    assert note_beside(database) is None
    assert len(list(Path("/dev/fd").iterdir())) == opened
