"""scripts/venv makes one .venv at a time, and a whole one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: Stands for Python: notes what it is asked to make, and waits in it where it is told to.
STUB = """#!/bin/sh
case "$1 $2" in
"-m venv")
    echo venv >>asked
    rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python
    ;;
"-m pip")
    [ "$3" = --version ] && exit
    echo pip >>asked
    ;;
*) exec "$REAL" "$@" ;;
esac
case "$WAITS_IN" in "$2") echo there >began && read -r _ <goes_on ;; esac
"""


class Clone:
    """A folder with what scripts/venv needs, and pipes to meet whoever runs it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(root / "scripts/venv", folder / "scripts/venv")
        self.stub = folder / "stub"
        self.stub.write_text(STUB)
        self.stub.chmod(0o755)
        for name in ("requirements.lock", "pyproject.toml"):
            (folder / name).touch()
            os.utime(folder / name, (0, 0))
        os.utime(folder / "scripts/venv", (0, 0))
        for name in ("began", "goes_on"):
            os.mkfifo(folder / name)

    def begin(self, waits_in: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["scripts/venv", "requirements.lock", ".venv/.runtime"],
            cwd=self.folder,
            env=os.environ
            | {"PYTHON": str(self.stub), "REAL": sys.executable, "WAITS_IN": waits_in},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def meet(self) -> None:
        """Return once somebody waits in what it was told to wait in."""
        (self.folder / "began").read_text()

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().split()


def ended(running: subprocess.Popen[str]) -> int:
    """Wait for its end and return its exit code."""
    running.communicate(timeout=20)
    return running.returncode


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Clone:
    return Clone(root, tmp_path)


def test_the_second_of_two_waits_for_the_first_and_takes_what_it_made(clone: Clone) -> None:
    first = clone.begin(waits_in="venv")
    clone.meet()
    second = clone.begin()
    assert second.stderr is not None
    said = second.stderr.readline()
    (clone.folder / "goes_on").write_text("on\n")

    assert (ended(first), ended(second)) == (0, 0)
    assert "Somebody else is making .venv here" in said
    assert clone.asked() == ["venv", "pip", "pip"]


def test_what_was_interrupted_while_packages_came_is_made_anew(clone: Clone) -> None:
    interrupted = clone.begin(waits_in="pip")
    clone.meet()
    os.killpg(interrupted.pid, signal.SIGKILL)
    ended(interrupted)

    assert ended(clone.begin()) == 0
    assert clone.asked() == ["venv", "pip", "venv", "pip", "pip"]


def test_who_waited_for_somebody_who_was_interrupted_makes_it_anew(clone: Clone) -> None:
    """Whatever was whole before: another lock may have been installed over it."""
    assert ended(clone.begin()) == 0
    interrupted = clone.begin(waits_in="pip")
    clone.meet()
    waiting = clone.begin()
    assert waiting.stderr is not None
    assert "Somebody else is making .venv here" in waiting.stderr.readline()
    os.killpg(interrupted.pid, signal.SIGKILL)
    ended(interrupted)

    assert ended(waiting) == 0
    assert clone.asked().count("venv") == 2


def test_what_is_whole_is_not_made_anew(clone: Clone) -> None:
    assert ended(clone.begin()) == 0
    assert ended(clone.begin()) == 0

    assert clone.asked().count("venv") == 1
