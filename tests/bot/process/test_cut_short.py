"""A process that is cut short ends, whatever it lacks."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from tests.conftest import ROOT

#: The first thread leaves its stack behind for the next one, which can then be started and has no
#: memory to begin with.
_STARVED = """
import os, resource, threading
from bot.process.cut_short import cut_short
first = threading.Thread(target=int)
first.start()
while len(os.listdir("/proc/self/task")) > 1:
    pass
resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))
cut_short(7)
"""


#: What waits is written at once; waiting for that would take a minute.
_WRITTEN = """
from bot.process import cut_short
cut_short.WRITTEN_S = 60.0
cut_short.cut_short(7)
"""
#: Somebody types Ctrl+C while what waits is written.
_INTERRUPTED = """
import atexit, os, signal, threading
from bot.process.cut_short import cut_short

def interrupts_and_hangs():
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()

atexit.register(interrupts_and_hangs)
cut_short(7)
"""


@pytest.mark.parametrize("program", [_WRITTEN, _INTERRUPTED])
def test_a_process_ends_with_its_code_once_all_is_written_and_also_in_the_middle(
    program: str,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, timeout=20, check=False, capture_output=True
    )

    assert ended.returncode == 7


@pytest.mark.skipif(platform.system() != "Linux", reason="only Linux holds a process to that limit")
def test_a_process_without_memory_for_a_thread_ends_all_the_same() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STARVED], cwd=ROOT, timeout=20, check=False, capture_output=True
    )

    assert ended.returncode == 7
