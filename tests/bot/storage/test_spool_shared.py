"""A spool that bots of two databases share, as two configs in one folder do."""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.storage.spool import FileSpool
from tests.conftest import ROOT

STOP = {"proposal_id": "p1", "surface": "terminal", "kind": "person", "id": "ana"}
MANY = 150
#: What a bot of another database does meanwhile: keeps one stop after the other.
KEEPS = f"""
import sys
from pathlib import Path
from bot.storage.spool import FileSpool
spool = FileSpool(Path(sys.argv[1]), "other")
print("begins", flush=True)
for number in range({MANY}):
    spool.keep({{"proposal_id": f"p{{number}}", "surface": "terminal"}})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "spool.jsonl"


def test_each_sees_and_forgets_its_own_alone(path: Path) -> None:
    ours, others = FileSpool(path, "ours"), FileSpool(path, "others")
    ours.keep(STOP)
    others.keep(STOP)

    assert (ours.kept(), others.kept()) == ([STOP], [STOP])
    ours.forget(ours.kept())
    assert (ours.kept(), others.kept()) == ([], [STOP])


def test_what_an_older_version_kept_is_of_the_file_that_is_opened_and_of_no_store_in_memory(
    path: Path,
) -> None:
    FileSpool(path).keep(STOP)
    assert FileSpool(path, "ours").kept() == [STOP]
    assert FileSpool(path, "passing", unnamed=False).kept() == []


def test_what_is_kept_before_the_database_could_be_named_is_taken_up_once_it_is(path: Path) -> None:
    FileSpool(path, None).keep(STOP)
    spool = FileSpool(path, "ours")
    spool.forget(spool.kept())
    assert FileSpool(path, None).kept() == []


def test_what_waits_for_another_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    FileSpool(path, "others").keep(STOP)
    with caplog.at_level(logging.WARNING):
        FileSpool(path, "others")
        assert caplog.messages == []
        FileSpool(path, "ours")
    assert caplog.messages == [
        f"Stops in {path} that wait for a bot of another database, and are left to it: 1."
    ]


@contextmanager
def another_is_at_it(path: Path) -> Iterator[None]:
    """Be a bot whose disk stalls in the middle of writing there."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def test_nothing_is_forgotten_while_another_bot_is_about_to_keep_a_stop(path: Path) -> None:
    """What it wrote into the file that it had opened was in no file any more."""
    ours, other = FileSpool(path, "ours"), FileSpool(path, "other")
    ours.keep(STOP)
    with another_is_at_it(path), path.open("ab") as opened:
        with pytest.raises(BlockingIOError):
            ours.forget([STOP])
        opened.write(b'{"proposal_id":"p1","surface":"slack","database":"other"}\n')

    ours.forget([STOP])
    assert (len(ours.kept()), len(other.kept())) == (0, 1)


def test_a_stop_does_not_pass_for_kept_while_another_bot_writes_the_file_anew(path: Path) -> None:
    """It was written into a file that was gone the moment after; now whoever gives it is told."""
    ours, other = FileSpool(path, "ours"), FileSpool(path, "other")
    other.keep(STOP)
    with another_is_at_it(path):
        anew = path.with_name("anew")
        anew.write_bytes(b"")
        with pytest.raises(BlockingIOError):
            ours.keep(STOP)
        anew.replace(path)

    ours.keep(STOP)
    assert ours.kept() == [STOP]


def test_a_bot_starts_although_another_one_does_not_end_its_writing(path: Path) -> None:
    FileSpool(path, "other").keep(STOP)
    with path.open("ab") as opened:
        opened.write(b'{"proposal_id"')
    with another_is_at_it(path):
        assert len(FileSpool(path, "other").kept()) == 1
    assert len(FileSpool(path, "other").kept()) == 1
    assert path.with_name(path.name + ".torn").exists()


def test_none_is_lost_while_another_bot_forgets(path: Path) -> None:
    """It wrote the file anew without what had come meanwhile."""
    ours = FileSpool(path, "ours")
    words = [sys.executable, "-c", KEEPS, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"begins\n"
        while other.poll() is None:
            ours.keep(STOP)
            ours.forget([STOP])
    assert other.returncode == 0
    assert len(FileSpool(path, "other").kept()) == MANY


def test_what_a_tool_forks_while_a_stop_is_kept_holds_no_spool(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While such a process lived, no stop could be kept."""
    spool, fsync = FileSpool(path), os.fsync
    waits, ends = os.pipe()
    copies = list[int]()

    def forking(descriptor: int) -> None:
        fsync(descriptor)
        copies.append(os.fork())
        if not copies[-1]:
            os.close(ends)
            os.read(waits, 1)
            os._exit(0)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", forking)
        spool.keep(STOP)
    try:
        spool.keep({**STOP, "proposal_id": "p2"})
    finally:
        os.close(ends)
        for copy in copies:
            os.waitpid(copy, 0)
