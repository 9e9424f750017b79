"""What a copy of the process is told it does not tell the one that it was copied from, it has
neither the lock nor the address of that one, and it does nothing in its place."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bot.process.listening import ListeningSocket
from bot.storage.lock import FileLock
from tests.conftest import ROOT

#: Waits for the end of the copy, and then for whatever its signal has told the loop.
INTERRUPTS_A_COPY = """
import asyncio, os, signal, sys
from bot.process.forked import keep_signals_from_copies

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


#: Its copies are told to end before anything else is run in them.
ENDS_A_COPY_AT_ONCE = """
import asyncio, os, signal, threading
from bot.process.forked import keep_signals_from_copies

def forks():
    copy = os.fork()
    if not copy:
        os._exit(0)
    _, status = os.waitpid(copy, 0)
    print(os.waitstatus_to_exitcode(status), signal.pthread_sigmask(signal.SIG_BLOCK, ()))

async def main():
    heard = []
    asyncio.get_running_loop().add_signal_handler(15, heard.append, 1)
    os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 15))
    keep_signals_from_copies()
    forks()
    thread = threading.Thread(target=forks)
    thread.start()
    thread.join()
    for _ in range(5):
        await asyncio.sleep(0)
    print(len(heard))

asyncio.run(main())
"""


def test_a_copy_that_is_ended_before_it_has_run_ends_and_the_bot_does_not() -> None:
    """As a pool of multiprocessing ends one with little to do: the bot ended, in the middle of the
    call, and the pool waited for the copy for ever."""
    # From Python 3.12 on a fork beside threads is warned of, which is what this is about.
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", ENDS_A_COPY_AT_ONCE]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (ended.stdout, ended.stderr) == ("-15 set()\n-15 set()\n0\n", "")


#: Dies without a word to anybody, while its copy stands until its input ends.
LEAVES_A_COPY = """
import os, socket, sys
from pathlib import Path
from bot.process.listening import ListeningSocket
from bot.storage.lock import FileLock

lock, listening = FileLock(Path(sys.argv[1])), ListeningSocket(socket.AF_INET, b"")
lock.take()
listening.bind(("127.0.0.1", 0))
listening.listen()
stands, says = os.pipe()
if not os.fork():
    os.write(says, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(stands, 1)
print(listening.getsockname()[1], flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_a_dead_bot_has_forked_keeps_the_next_one_from_nothing(tmp_path: Path) -> None:
    """Its database was in use by a process that was gone, until somebody ended the copies."""
    words = [sys.executable, "-c", LEAVES_A_COPY, str(tmp_path / "signoff.db")]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as dead:
        assert dead.stdout is not None
        port = int(dead.stdout.readline())
        dead.wait(60)
        lock = FileLock(tmp_path / "signoff.db")
        with ListeningSocket(socket.AF_INET, b"") as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            listening.listen()
            lock.take()
            lock.release()


#: A tool forks, and its copy comes back to the bot as the argument says; prints how that ended.
COMES_BACK = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from bot.process.pool import going_on, run
from bot.tools.apart import apart

async def forks_as_it_is_called_back():
    loop = asyncio.get_running_loop()
    forked = loop.create_future()
    loop.call_soon(lambda: (copy := os.fork()) and forked.set_result(copy))
    return await forked

async def forks():
    if sys.argv[1].startswith("called back"):
        return await forks_as_it_is_called_back()
    if copy := os.fork():
        return copy
    match sys.argv[1]:
        case "fails":
            raise ValueError
        case "exits" | "exits in a task":
            sys.exit(3)
        case "exits in words":
            sys.exit("in vain")
        case "waits":
            await asyncio.sleep(0)

async def working():
    in_a_task = sys.argv[1] == "exits in a task"
    bot_runs = sys.argv[1] != "called back in another command"
    with going_on() if bot_runs else nullcontext(), ThreadPoolExecutor(1) as threads:
        work = asyncio.wait_for(forks(), 50) if in_a_task else forks()
        copy = await apart(work, "tool", threads)
        _, status = await asyncio.to_thread(os.waitpid, copy, 0)
    return os.waitstatus_to_exitcode(status)

print(run(working()))
"""


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("returns", 0),
        ("fails", 1),
        ("exits", 3),
        ("exits in a task", 3),
        ("exits in words", 1),
        ("waits", 1),
        ("called back", 1),
        ("called back in another command", 1),
    ],
)
def test_a_copy_that_comes_back_to_the_bot_ends_there(how: str, code: int) -> None:
    """It went on as a second bot, and took from the first one all that it hears by as it ended."""
    words = [sys.executable, "-c", COMES_BACK, how]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)

    assert (ended.stdout, ended.returncode) == (f"{code}\n", 0)
