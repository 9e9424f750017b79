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


@pytest.mark.skipif(platform.system() != "Linux", reason="only Linux holds a process to that limit")
def test_a_process_without_memory_for_a_thread_ends_all_the_same() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STARVED], cwd=ROOT, timeout=20, check=False, capture_output=True
    )

    assert ended.returncode == 7
