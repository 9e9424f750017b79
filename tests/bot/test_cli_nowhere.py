"""Commands from a folder that is gone, and configs that stand in no folder of their own."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bot.cli_house import House

CONFIGS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/../dev/stdin")


@pytest.fixture
def house(tmp_path: Path, root: Path) -> House:
    folder = tmp_path / "house"
    folder.mkdir()
    return House(folder, root)


def from_nowhere(house: House, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    gone = house.folder.parent / "gone"
    gone.mkdir()

    def left_behind() -> None:
        os.chdir(gone)
        gone.rmdir()

    return subprocess.run(
        [sys.executable, "-m", "bot", *words],
        env={**os.environ, "PYTHONPATH": str(root)},
        input="status\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=left_behind,
    )


@pytest.mark.parametrize("words", [("run",), ("status",), ("check-config",), ("freeze", "fire")])
def test_who_stands_in_a_folder_that_is_gone_is_told_to_go_to_another(
    house: House, root: Path, words: tuple[str, ...]
) -> None:
    done = from_nowhere(house, root, *words)

    assert done.returncode == 1
    assert "The folder in which this command was called is gone: cd into one that" in done.stderr
    assert "error it does not know" not in done.stderr


def test_a_bot_whose_config_stands_elsewhere_works_from_a_folder_that_is_gone(
    house: House, root: Path
) -> None:
    done = from_nowhere(house, root, "--config", str(house.folder / "config.yaml"), "run")

    assert (done.returncode, "Nothing needs a person's attention" in done.stdout) == (0, True)


def test_a_copy_for_a_folder_that_is_gone_is_refused_for_that(house: House, root: Path) -> None:
    """It was told that the copy is a link that leads nowhere."""
    house.run("run", said="\n")
    config = str(house.folder / "config.yaml")
    done = from_nowhere(house, root, "--config", config, "backup", "copy.db")

    assert (done.returncode, "this command was called is gone" in done.stderr) == (1, True)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_that_is_an_open_file_is_refused_since_its_data_would_stand_nowhere(
    house: House, root: Path, config: str
) -> None:
    with (house.folder / "config.yaml").open() as file:
        done = subprocess.run(
            [sys.executable, "-m", "bot", "--config", config, "check-config"],
            env={**os.environ, "PYTHONPATH": str(root)},
            stdin=file,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert "has no folder of its own, in which data/ would stand" in done.stderr


def test_a_config_that_is_a_pipe_is_refused_without_waiting_for_who_writes_into_it(
    house: House,
) -> None:
    os.mkfifo(house.folder / "piped.yaml")

    done = house.run("--config", "piped.yaml", "check-config")

    assert done.returncode == 2
    assert "has no folder of its own" in done.stderr


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o002])
def test_nobody_else_may_enter_the_folders_that_the_bot_makes_whatever_its_umask(
    house: House, mask: int
) -> None:
    shutil.rmtree(house.folder / "data", ignore_errors=True)
    before = os.umask(mask)
    try:
        done = house.run("propose", "examples/mail.json", "--as", "leila")
    finally:
        os.umask(before)

    assert done.returncode == 0
    made = [house.folder / "data", *(p for p in (house.folder / "data").rglob("*") if p.is_dir())]
    assert {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made} == dict.fromkeys(
        (path.name for path in made), 0
    )


@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_what_nobody_knows_is_kept_whatever_is_written_in_it(root: Path, language: str) -> None:
    program = "from bot.cli.app import _told; _told(ValueError('gr\\xfc\\xdfe \\udcff'))"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            **{"PYTHONPATH": str(root), "LC_ALL": language},
            **{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    kept = Path(done.stderr.strip().rpartition(" stands in ")[2].removesuffix("."))
    assert "ValueError: grüße \\udcff" in kept.read_text(encoding="utf-8")
    kept.unlink()
