"""What a killed bot left running is ended by the next one, and nobody else's programs are."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bot.tools import program
from bot.tools.leftovers import Leftovers
from bot.tools.program import Place
from tests.conftest import ROOT

#: Starts a program as a bot does and waits; killed, it leaves the program behind.
CALLER = """
import asyncio, os, sys
from pathlib import Path
from bot.tools import program
from bot.tools.leftovers import Leftovers
folder = Path(sys.argv[1])
place = program.Place(folder, dict(os.environ), Leftovers(folder / "running"))
asyncio.run(program.run(["sh", "-c", sys.argv[2]], b"", place, 10))
"""
#: Starts what has a session of its own and inherits all that can be inherited.
DAEMON = """
import subprocess
quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
daemon = subprocess.Popen(["sleep", "600"], start_new_session=True, close_fds=False, **quiet)
print(daemon.pid)
"""
DEADLINE_S = 20


def until(told, words: str):
    """Wait for something that another process does."""
    late = time.monotonic() + DEADLINE_S
    while not (found := told()):
        assert time.monotonic() < late, words
        time.sleep(0.01)
    return found


def left_behind(folder: Path, line: str) -> int:
    """Kill a bot whose program runs, and is noted; return the program's number."""
    said = folder / "pid"
    (folder / "daemon.py").write_text(DAEMON)
    line = f"echo $$ > pid.part; mv pid.part pid; {line}"
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(folder), line], cwd=ROOT)
    until(said.exists, "the program never began")
    until(lambda: noted(folder / "running"), "the program was never noted")
    caller.kill()
    caller.wait()
    return int(said.read_text())


def noted(running: Path) -> bool:
    """Say whether a mark tells whose it is; until then whoever holds its lock is taken for it."""
    return any(mark.read_bytes().strip() for mark in running.glob("*.program"))


def lives(number: int) -> bool:
    """Say whether a process runs; a zombie in a container without an init does not."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("line", ["sleep 600", "trap '' TERM; while :; do sleep 600; done"])
def test_a_program_that_outlived_its_bot_is_ended_however_it_resists(tmp_path, line):
    number = left_behind(tmp_path, line)
    assert lives(number)

    assert Leftovers(tmp_path / "running").end_all() == 0

    until(lambda: not lives(number), "the program went on")
    assert list((tmp_path / "running").iterdir()) == []


def test_a_program_that_a_former_version_started_and_noted_in_seconds_is_ended(tmp_path):
    number = left_behind(tmp_path, "sleep 600")
    (mark,) = (tmp_path / "running").glob("*.program")
    mark.write_text(f"{number} {psutil.Process(number).create_time():.3f}".ljust(40))

    assert Leftovers(tmp_path / "running").end_all() == 0

    until(lambda: not lives(number), "the program went on")


@pytest.mark.parametrize("set_s", [-3_600, -2, 2, 3_600])
def test_a_program_is_ended_though_the_wall_clock_was_set_since_it_began(tmp_path, set_s, wall_set):
    number = left_behind(tmp_path, "sleep 600")
    wall_set(set_s)

    assert Leftovers(tmp_path / "running").end_all() == 0

    until(lambda: not lives(number), "the program went on")


def test_a_program_whose_bot_died_before_it_had_written_whose_it_is_is_found_and_ended(tmp_path):
    """The bot may die between the start of a program and the note of its number."""
    number = left_behind(tmp_path, "sleep 600")
    (mark,) = (tmp_path / "running").glob("*.program")
    mark.write_bytes(b" " * 40)

    assert Leftovers(tmp_path / "running").end_all() == 0
    assert not lives(number)


def test_what_the_program_started_is_ended_although_the_program_is_gone(tmp_path):
    number = left_behind(tmp_path, "sleep 600 & echo $! > child.part; mv child.part child; wait")
    until((tmp_path / "child").exists, "the program had no child")
    child = int((tmp_path / "child").read_text())
    os.kill(number, signal.SIGKILL)
    until(lambda: not lives(number), "the program went on")

    assert Leftovers(tmp_path / "running").end_all() == 0

    until(lambda: not lives(child), "its child went on")


def test_a_number_that_somebody_else_got_later_is_left_alone(tmp_path):
    """What left its group holds the lock; the group's number leads a session of a stranger."""
    stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
    leftovers = Leftovers(tmp_path)
    mark = leftovers.mark()
    held = os.dup(mark.descriptor)
    began_s = psutil.Process(stranger.pid).create_time() - 60
    os.pwrite(mark.descriptor, f"{stranger.pid} {began_s:.3f}".encode(), 0)
    os.close(mark.descriptor)
    try:
        assert leftovers.end_all() == 0
        assert stranger.poll() is None
    finally:
        os.close(held)
        stranger.kill()
        stranger.wait()


def test_a_group_whose_leader_is_gone_is_a_strangers_after_a_start_of_the_machine(tmp_path):
    """As daemons are that have forked twice; their numbers are much the same after each start."""
    line = "sleep 600 >/dev/null & echo $!"
    leader = subprocess.Popen(["sh", "-c", line], start_new_session=True, stdout=subprocess.PIPE)
    stranger = int(leader.communicate()[0])
    leftovers = Leftovers(tmp_path)
    mark = leftovers.mark()
    held = os.dup(mark.descriptor)
    os.pwrite(mark.descriptor, f"{leader.pid} 00000000:4711".encode(), 0)
    os.close(mark.descriptor)
    try:
        assert leftovers.end_all() == 0
        assert lives(stranger)
    finally:
        os.close(held)
        os.kill(stranger, signal.SIGKILL)


def test_a_mark_without_a_number_does_not_end_the_bot_that_reads_it(tmp_path):
    """A signal to group 0 is one to our own."""
    reads = "import sys; from pathlib import Path; from bot.tools.leftovers import Leftovers; "
    reads += "print(Leftovers(Path(sys.argv[1])).end_all())"
    mark = Leftovers(tmp_path).mark()
    held = os.dup(mark.descriptor)
    os.pwrite(mark.descriptor, b"0 4711.00", 0)
    os.close(mark.descriptor)
    bot = [sys.executable, "-c", reads, str(tmp_path)]
    try:
        done = subprocess.run(
            bot, cwd=ROOT, capture_output=True, start_new_session=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"0\n")
    finally:
        os.close(held)


def test_what_left_its_group_on_purpose_holds_up_no_start(tmp_path):
    """A killed bot's program left a daemon, and ended itself."""
    number = left_behind(tmp_path, f"{sys.executable} daemon.py > daemon; sleep 600")
    until(lambda: (tmp_path / "daemon").exists() and (tmp_path / "daemon").read_text(), "no daemon")
    daemon = int((tmp_path / "daemon").read_text())
    os.kill(number, signal.SIGKILL)
    try:
        assert Leftovers(tmp_path / "running").end_all() == 0
        assert lives(daemon)
        assert list((tmp_path / "running").iterdir()) == []
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_a_mark_without_a_number_ends_nobody_and_stays_as_long_as_somebody_holds_it(tmp_path):
    leftovers = Leftovers(tmp_path)
    mark = leftovers.mark()

    assert leftovers.end_all() == 1

    os.close(mark.descriptor)
    assert leftovers.end_all() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_mark_that_cannot_be_read_keeps_no_bot_from_starting(tmp_path):
    """The account that made it may not be the bot's; root, which runs this, may read any file."""
    (tmp_path / "x.program").mkdir()

    assert Leftovers(tmp_path).end_all() == 1


@pytest.mark.parametrize("argv", [["sh", "-c", "exit 3"], ["./nowhere"]])
def test_a_call_that_ended_leaves_no_mark(tmp_path, argv):
    place = Place(tmp_path, dict(os.environ), Leftovers(tmp_path / "running"))
    try:
        asyncio.run(program.run(argv, b"", place, 10))
    except OSError:
        assert argv == ["./nowhere"]

    assert list((tmp_path / "running").iterdir()) == []


def test_a_daemon_that_a_program_leaves_on_purpose_does_not_hold_up_the_next_start(tmp_path):
    """It has a session of its own; the mark went with the program that started it."""
    place = Place(tmp_path, dict(os.environ), Leftovers(tmp_path / "running"))
    ended = asyncio.run(program.run([sys.executable, "-c", DAEMON], b"", place, 100))
    try:
        assert place.leftovers.end_all() == 0
        assert lives(int(ended.output))
    finally:
        os.kill(int(ended.output), signal.SIGKILL)


@pytest.mark.parametrize("room", [0, 10])
def test_a_mark_for_which_there_is_no_room_leaves_nothing_open_and_nothing_behind(tmp_path, room):
    """Else a bot on a full disk has no descriptors left after some hundred calls."""
    leftovers, before = Leftovers(tmp_path / "running"), open_files()
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, had[1]))
    try:
        for _ in range(3):
            with pytest.raises(OSError, match=r"File too large|No space left"):
                leftovers.mark()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)

    assert open_files() == before
    assert list((tmp_path / "running").iterdir()) == []


def open_files() -> int:
    return psutil.Process().num_fds()
