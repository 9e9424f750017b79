"""What a tool of a killed bot forked is ended by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bot.tools.copies import CopiesMark, end_copies
from tests.conftest import ROOT

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


def test_a_copy_that_was_made_to_outlive_its_bot_does(tmp_path: Path) -> None:
    copy = left_behind(tmp_path, "os.close(1); os.setsid()")
    try:
        assert end_copies(tmp_path) == 0
        assert works(copy)
    finally:
        copy.kill()


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
