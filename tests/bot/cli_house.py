"""A house for the command line: a folder with the shipped config, in which commands are run."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from bot.cli.app import main

Done = subprocess.CompletedProcess[str]


class House:
    """A folder with the shipped config, in which commands are run; the bot as a process."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        shutil.copy(root / "config.yaml", folder)
        shutil.copytree(root / "examples", folder / "examples")

    def run(self, *words: str, said: str = "", **environment: str) -> subprocess.CompletedProcess:
        known = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        known |= {"PYTHONPATH": str(self._root), **environment}
        run = self._process if words[0] == "run" else self._here
        done = run(words, said, known)
        assert "Traceback" not in done.stdout + done.stderr
        return done

    def _process(self, words: Sequence[str], said: str, environment: Mapping[str, str]) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "bot", *words],
            cwd=self.folder,
            env=environment,
            input=said,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def _here(self, words: Sequence[str], said: str, environment: Mapping[str, str]) -> Done:
        """Run it in this process, which spares a second; it gets all that a process has."""
        out, err = _Paper(), _Paper()
        with ExitStack() as changed:
            changed.enter_context(chdir(self.folder))
            changed.enter_context(patch.dict(os.environ, environment, clear=True))
            changed.enter_context(patch.object(sys, "argv", ["signoff", *words]))
            changed.enter_context(patch.object(sys, "stdin", _Paper(said)))
            changed.enter_context(redirect_stdout(out))
            changed.enter_context(redirect_stderr(err))
            with pytest.raises(SystemExit) as end:
                main()
        return Done(list(words), int(end.value.code or 0), out.text, err.text)


class _Paper(io.TextIOWrapper):
    """A stream in memory, with bytes below it as the standard ones have."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), "utf-8")

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()
