"""A config that works, to be spoiled in one place; a folder for commands; a clock that is set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.bot.cli_house import House

BASE = Path(__file__).with_name("base.yaml")

Spoil = Callable[..., Path]


@pytest.fixture
def write_config(tmp_path: Path) -> Spoil:
    """Write the config with pieces of its text exchanged; every piece must occur once."""

    def write(*changes: tuple[str, str]) -> Path:
        text = BASE.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} must stand once in the config"
            text = text.replace(old, new)
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def house(tmp_path: Path, root: Path) -> House:
    """A folder with the shipped config, in which commands are run."""
    return House(tmp_path, root)


@pytest.fixture
def wall_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the machine's clock on, or back, as psutil sees it: Linux then tells another boot time.

    What runs by then has its processes seen as before; nothing of the machine is touched.
    """
    real = Path("/proc")
    if not (real / "stat").exists():
        pytest.skip("this kernel does not count from its boot")

    def by(seconds: int) -> None:
        seen = tmp_path / f"proc{seconds}"
        seen.mkdir()
        for entry in real.iterdir():
            if entry.name != "stat":
                (seen / entry.name).symlink_to(entry)
        lines = (real / "stat").read_text().splitlines()
        told = [line.split() for line in lines]
        moved = [
            f"btime {int(words[1]) + seconds}" if words[:1] == ["btime"] else line
            for words, line in zip(told, lines, strict=True)
        ]
        (seen / "stat").write_text("\n".join(moved) + "\n")
        monkeypatch.setattr(psutil, "PROCFS_PATH", str(seen))

    return by
