"""A copy of the process that is interrupted does not tell the one that it was copied from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

#: Waits for the end of the copy, and then for whatever its signal has told the loop.
INTERRUPTS_A_COPY = """
import asyncio, os, signal, sys
from bot.forked import keep_signals_from_copies

async def main():
    heard = []
    asyncio.get_running_loop().add_signal_handler(int(sys.argv[1]), heard.append, 1)
    keep_signals_from_copies()
    (stands, says), (goes, go) = os.pipe(), os.pipe()
    copy = os.fork()
    if not copy:
        os.write(says, b"x")
        os.read(goes, 1)
        os._exit(0)
    os.read(stands, 1)
    os.kill(copy, int(sys.argv[1]))
    os.write(go, b"x")
    os.waitpid(copy, 0)
    for _ in range(5):
        await asyncio.sleep(0)
    print(len(heard))

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [1, 2, 15])
def test_what_a_copy_is_told_is_not_heard_by_the_bot(number: int) -> None:
    words = [sys.executable, "-c", INTERRUPTS_A_COPY, str(number)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (ended.stdout, ended.stderr) == ("0\n", "")
