"""The bot as a real process: fed through a pipe, looked at by the command line, killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.loaded import Forked, Stream, can_fork, fork_bot, plain_environment

DEADLINE_S = 60


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Process]:
    """A bot that has not been started, in a folder of its own."""
    made = Process(tmp_path)
    yield made
    made.close()


def unprivileged(*words: str) -> list[str]:
    """Return the command as a user may run it: root may write everywhere."""
    if os.geteuid():
        return list(words)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may write everywhere, and setpriv is not here")
    return [setpriv, "--bounding-set", "-dac_override,-dac_read_search", *words]


class Process:
    """`signoff run` in a folder of its own, with the shipped config and examples."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "config.yaml").exists():
            shutil.copy(ROOT / "config.yaml", folder)
            shutil.copytree(ROOT / "examples", folder / "examples")
        self.environment = plain_environment()
        self._errors = (folder / "stderr.txt").open("a")
        self._marks = 0
        self.process: subprocess.Popen[bytes] | Forked | None = None

    def start(self, **streams: Stream) -> None:
        """Start it in a process group of its own; it may still be starting afterwards.

        Its input and output are pipes, its errors `complaints`, unless `streams` say otherwise.
        """
        self.kill()
        pipe = subprocess.PIPE
        three = {"stdin": pipe, "stdout": pipe, "stderr": self._errors} | streams
        if can_fork(self.environment):
            self.process = fork_bot(["run"], self.folder, self.environment, *three.values())
            return
        self.process = subprocess.Popen(
            self._words("run"),
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
            **three,  # type: ignore[call-overload]
        )

    def ask(self, line: str | bytes) -> list[str]:
        """Type a line and return all that was printed until the bot has finished with it."""
        self._marks += 1
        mark = f"mark-{self._marks}"
        self.tell(line)
        self.tell(mark)
        heard: list[str] = []
        while True:
            said = self._running.stdout.readline()  # type: ignore[union-attr]
            if not said:
                raise EOFError(f"the bot ended after {heard}: {self.complaints()}")
            text = said.decode().rstrip("\n")
            if mark in text:
                return heard
            heard.append(text)

    def tell(self, line: str | bytes) -> None:
        """Type a line and wait for nothing."""
        data = line if isinstance(line, bytes) else line.encode()
        pipe = self._running.stdin
        assert pipe is not None
        pipe.write(data + b"\n")
        pipe.flush()

    def answer(self, line: str | bytes) -> dict[str, Any]:
        """Type a proposal and return the answer object."""
        found = [json.loads(said) for said in self.ask(line) if said.startswith("{")]
        return dict(found[0])

    def hear(self, words: str) -> str:
        """Read on until a line holds `words`; return that line."""
        for said in self._running.stdout:  # type: ignore[union-attr]
            if words in (line := said.decode().rstrip("\n")):
                return line
        raise EOFError(f"the bot ended without saying {words!r}: {self.complaints()}")

    def send(self, number: int) -> None:
        """Send it a signal and wait for nothing."""
        self._running.send_signal(number)

    def ends_within(self, seconds: float) -> int:
        """Wait for its end, which must come in time; return the exit code."""
        return self._running.wait(seconds)

    def rest(self) -> tuple[list[str], int]:
        """Close the input; return what is printed until the end, and the exit code."""
        self._running.stdin.close()  # type: ignore[union-attr]
        lines = self._running.stdout.read().decode().splitlines()  # type: ignore[union-attr]
        return lines, self._running.wait(DEADLINE_S)

    def end_of_input(self) -> int:
        """Close the input and return the exit code."""
        return self.rest()[1]

    def kill(self) -> None:
        """SIGKILL to the whole process group."""
        if self.process is None:
            return
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE_S)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:
                continue
        self.process = None

    def beside(self, *words: str, inside: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run another command on the same folder; `inside` another program that runs it."""
        if not inside and can_fork(self.environment):
            return self._beside(words)
        return subprocess.run(
            [*inside, *self._words(*words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def _beside(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        with TemporaryFile() as out, TemporaryFile() as err, Path(os.devnull).open() as nothing:
            process = fork_bot(words, self.folder, self.environment, nothing, out, err)
            code = process.wait(DEADLINE_S)
            said = [(file.seek(0), file.read().decode())[1] for file in (out, err)]
        return subprocess.CompletedProcess(list(words), code, *said)

    def complaints(self) -> str:
        """Return what all runs wrote to standard error."""
        return (self.folder / "stderr.txt").read_text()

    def complains_of(self, words: str) -> None:
        """Wait until standard error holds `words`, being asked something meanwhile."""
        late = time.monotonic() + DEADLINE_S
        while words not in self.complaints():
            assert time.monotonic() < late, f"{words!r} is not in {self.complaints()}"
            self.ask("status")

    def close(self) -> None:
        """Leave nothing behind."""
        self.kill()
        self._errors.close()

    @property
    def _running(self) -> subprocess.Popen[bytes] | Forked:
        assert self.process is not None
        return self.process

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "bot", *words]
