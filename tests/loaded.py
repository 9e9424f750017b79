"""A process that has loaded the bot, and forks it: `python -m bot` without its loading.

More than half of what a start costs is loading modules, and tests start the bot hundreds of times.
So one process per pytest worker loads them once, then waits for orders and forks a bot for each.
That bot has its own process id, session, folder, environment and streams; it lives and dies as any
other, it was merely not read from the disk. `fork_bot` is for the tests, `main` is that process.
"""

from __future__ import annotations

import gc
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
#: What `signoff run` and the commands beside it load, most of it only once they need it.
_MODULES: Final = (
    *("bot.composing", "bot.chat.terminal.client", "bot.chat.terminal.notifier", "bot.running"),
    *("bot.books", "bot.cli.log_outlet", "bot.status_told", "bot.trail"),
    *("apscheduler.executors.asyncio", "detect_secrets.core.scan"),
)
#: Packages whose modules are loaded by name.
_PACKAGES: Final = ("detect_secrets.plugins", "sentinel_rules")
#: The variables that Python itself reads as it starts begin so.
_READ_AT_START: Final = ("PYTHON", "LANG", "LC_", "LD_")
_ORDER_BYTES: Final = 262_144

Stream = int | IO[Any]


class Forked:
    """A bot that was forked; it has of subprocess.Popen what the tests need."""

    def __init__(self, pid: int, end: socket.socket, pipes: Mapping[str, IO[bytes]]) -> None:
        self.pid = pid
        self.stdin, self.stdout = pipes.get("stdin"), pipes.get("stdout")
        self.returncode: int | None = None
        self._end = end

    def poll(self) -> int | None:
        """Return the exit code if it has ended, else None."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended; raise TimeoutExpired after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(["signoff"], timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], seconds)[0]:
            self.returncode = int(self._end.recv(64))
            self._end.close()
        return self.returncode


def can_fork(environment: Mapping[str, str]) -> bool:
    """Say whether a bot with this environment would start as the loaded process did.

    macOS may end a forked process that did not call exec.
    """
    return sys.platform == "linux" and _at_start(environment) == _at_start(plain_environment())


def plain_environment() -> dict[str, str]:
    """Return the environment in which a bot is started unless a test says otherwise."""
    known = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return {**known, "PYTHONPATH": str(ROOT)}


def fork_bot(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *streams: Stream
) -> Forked:
    """Start `python -m bot` with `words`; `streams` are its three, as subprocess.Popen has them."""
    pipes, theirs = {}, []
    for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
        if stream == subprocess.PIPE:
            reading, writing = os.pipe()
            ours, stream = (writing, reading) if name == "stdin" else (reading, writing)
            pipes[name] = os.fdopen(ours, "wb" if name == "stdin" else "rb")
        theirs.append(stream if isinstance(stream, int) else stream.fileno())
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    order = json.dumps({"words": list(words), "folder": str(folder), "environ": dict(environment)})
    socket.send_fds(_loaded()[0], [order.encode()], [*theirs, there.fileno()])
    there.close()
    for name, number in zip(("stdin", "stdout", "stderr"), theirs, strict=True):
        if name in pipes:
            os.close(number)
    return Forked(int(here.recv(64)), here, pipes)


@cache
def _loaded() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the process that loads; it ends once this one has, as its socket then closes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.loaded", str(theirs.fileno())],
        cwd=ROOT,
        env=plain_environment(),
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # what ends the bots of a test by their group ends not this
    )
    theirs.close()
    return ours, process


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key.startswith(_READ_AT_START)}


def main(orders: socket.socket) -> None:
    """Load everything, then fork a bot for each order; return in each bot, and at the end."""
    for name in _MODULES:
        import_module(name)
    for package in _PACKAGES:
        for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever waits for a bot ends unobserved
    while True:
        order, given, _, _ = socket.recv_fds(orders, _ORDER_BYTES, 4)
        if not order:
            sys.exit(0)
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _fork_and_wait(socket.socket(fileno=given[3]), given[:3])
            return _become(json.loads(order), given[:3])
        for number in given:
            os.close(number)


def _fork_and_wait(told: socket.socket, streams: Sequence[int]) -> None:
    """Fork the bot, in which this returns; tell its process id and, at its end, its exit code."""
    bot = os.fork()
    if bot == 0:
        os.setsid()  # before anybody knows of it, who may then end the whole group
        told.send(str(os.getpid()).encode())
        told.close()
        return
    for number in (0, 1, 2, *streams):
        os.close(number)
    _, status = os.waitpid(bot, 0)
    told.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(order: dict[str, Any], streams: Sequence[int]) -> None:
    """Take the place of a process that was started by this order."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv[1:] = order["words"]
    sys.path[0] = order["folder"]
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        setattr(sys, name, _stream(getattr(sys, name), number, mode))
        setattr(sys, f"__{name}__", getattr(sys, name))


def _stream(was: io.TextIOWrapper, number: int, mode: str) -> IO[str]:
    """Open a standard stream as Python does: by lines for a terminal, else by blocks."""
    by_lines = number == 2 or os.isatty(number)
    buffering = 1 if by_lines and mode == "w" else -1
    return open(number, mode, buffering, was.encoding, was.errors, closefd=False)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("bot", run_name="__main__", alter_sys=True)
