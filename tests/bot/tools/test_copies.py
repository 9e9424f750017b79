"""What a tool of a killed bot forked is ended by the next one."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bot.tools.copies import CopiesMark, end_copies
from tests.conftest import ROOT
from tests.processes import unprivileged

LINUX = pytest.mark.skipif(not psutil.LINUX, reason="elsewhere psutil looks")
#: Forks a copy that runs the second argument and stands until it is ended, and dies.
DIES = """
import os, signal, sys, time
from pathlib import Path
from bot.tools.copies import CopiesMark

mark = CopiesMark(Path(sys.argv[1]))
stands, says = os.pipe()
if not (copy := os.fork()):
    exec(sys.argv[2])
    os.write(says, b"x")
    while True:
        time.sleep(600)
os.read(stands, 1)
print(copy, flush=True)
os.kill(os.getpid(), 9)
"""


def left_behind(running: Path, does: str) -> psutil.Process:
    words = [sys.executable, "-c", DIES, str(running), does]
    said = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False).stdout
    return psutil.Process(int(said))


def works(copy: psutil.Process) -> bool:
    """Say whether it runs; a zombie in a container without an init does not."""
    try:
        return copy.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    "does", ["os.close(1)", "os.close(1); signal.signal(signal.SIGTERM, signal.SIG_IGN)"]
)
def test_a_copy_that_outlived_its_bot_is_ended_however_it_resists(
    tmp_path: Path, does: str
) -> None:
    copy = left_behind(tmp_path, does)
    assert works(copy)

    assert end_copies(tmp_path) == 0
    assert not works(copy)
    assert not list(tmp_path.iterdir())


def test_a_copy_that_is_forked_as_the_first_one_is_ended_is_ended_too(tmp_path: Path) -> None:
    """Where a copy forks for each job, one was born between the look and the signal."""
    forks = "signal.signal(signal.SIGTERM, lambda *_: os.fork() and os._exit(0))"
    left_behind(tmp_path, f"os.close(1); {forks}")
    (mark,) = tmp_path.iterdir()

    with mark.open("rb") as file:
        assert end_copies(tmp_path) == 0
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds it


@LINUX
def test_what_the_processes_of_others_have_open_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took seconds on a machine with thousands, and may lie on a disk that answers nobody."""
    copy, listed, groups = left_behind(tmp_path, "os.close(1)"), os.listdir, set()
    group = os.getpgid(copy.pid)

    def noted(folder: Path | bytes) -> list[str]:
        if isinstance(folder, Path):
            groups.add(os.getpgid(int(folder.parent.name)))
        return listed(folder)  # type: ignore[return-value]

    monkeypatch.setattr("bot.tools.copies.os.listdir", noted)

    assert (end_copies(tmp_path), groups) == (0, {group})


def test_a_copy_that_was_made_to_outlive_its_bot_does(tmp_path: Path) -> None:
    copy = left_behind(tmp_path, "os.close(1); os.setsid()")
    try:
        assert end_copies(tmp_path) == 0
        assert works(copy)
    finally:
        copy.kill()


def test_a_copy_that_writes_into_a_folder_closed_to_it_is_ended(tmp_path: Path) -> None:
    """As where root's shell opened the log: nothing that it had open was seen, and it went on."""
    running, closed = tmp_path / "running", tmp_path / "closed"
    closed.mkdir()
    copy = left_behind(running, f"os.close(1); log = open({str(closed / 'log')!r}, 'w')")
    closed.chmod(0)
    ends = f"from bot.tools.copies import *; print(end_copies(Path({str(running)!r})))"
    words = unprivileged(sys.executable, "-c", ends)
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=60, check=False)

    assert (ended.stdout, ended.stderr, works(copy)) == (b"0\n", b"", False)


@LINUX
def test_a_copy_that_lets_nobody_see_what_it_has_open_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a copy of a Python with capabilities of its own does: it went on, and nobody heard of it.

    Root sees all there is, so that the system's refusal is made here.
    """
    copy, listed = left_behind(tmp_path, "os.close(1)"), os.listdir

    def refused(folder: Path | bytes) -> list[str]:
        if folder == Path(f"/proc/{copy.pid}/fd"):
            raise PermissionError
        return listed(folder)  # type: ignore[return-value]

    with monkeypatch.context() as patch:
        patch.setattr("bot.tools.copies.os.listdir", refused)

        assert end_copies(tmp_path) == 1
    assert works(copy)
    assert end_copies(tmp_path) == 0
    assert not works(copy)


@LINUX
def test_who_only_reads_a_mark_is_no_copy(tmp_path: Path) -> None:
    """A backup is of the bot's process group where one shell started both, and was ended."""
    copy = left_behind(tmp_path, "os.close(1)")
    (mark,) = tmp_path.iterdir()
    reads = f"file = open({str(mark)!r}); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", reads], **pipes) as reader:  # type: ignore[call-overload]
        reader.stdout.readline()

        assert end_copies(tmp_path) == 0
        assert not works(copy)
        reader.communicate(b"\n")

    assert reader.returncode == 0


def test_a_bot_that_lost_its_lock_is_no_copy(tmp_path: Path) -> None:
    """It ends by itself, and may have to say how its calls ended."""
    mark = CopiesMark(tmp_path)

    assert end_copies(tmp_path) == 0  # would have ended this process
    mark.let_go()


def test_a_bot_that_ends_leaves_its_mark_only_where_one_of_its_copies_lives(tmp_path: Path) -> None:
    mark = CopiesMark(tmp_path)
    waits, ends = os.pipe()
    copy = os.fork()
    if not copy:
        os.close(ends)
        os.read(waits, 1)
        os._exit(0)
    os.close(waits)
    mark.let_go()
    held = list(tmp_path.iterdir())
    os.close(ends)
    os.waitpid(copy, 0)

    alone = CopiesMark(tmp_path)
    alone.let_go()

    assert list(tmp_path.iterdir()) == held
    assert end_copies(tmp_path) == 0
    assert not list(tmp_path.iterdir())
