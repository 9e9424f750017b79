"""Commands in machines whose locale lacks the letters that people type."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.config.problems import Problems
from bot.config.rules import loaded_rules, settled
from lifecycle.policy import Level, RuleSettings
from tests.bot.cli_house import House

#: Python knows nothing but ASCII then.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
WORDS = "trop élevé, 高すぎる 🙂"


@pytest.fixture
def house(tmp_path: Path, root: Path) -> House:
    return House(tmp_path, root)


def test_a_reason_typed_in_a_locale_without_its_letters_is_kept_whole(
    house: House, root: Path
) -> None:
    """The trail held `trop ??lev??` for good."""
    house.run("run", said="\n")
    done = subprocess.run(
        [sys.executable, "-m", "bot", "freeze", *WORDS.split()],
        cwd=house.folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root), **ASCII},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"FROZEN by ana since {WORDS}" in re.sub(
        r"since .*? UTC:", "since", house.run("status").stdout
    )


def test_a_folder_whose_name_the_locale_cannot_read_is_named_as_what_is_wrong(root: Path) -> None:
    """It was told as settings of a rule that are no plain values."""
    written = RuleSettings(Level.HARD, {"roots": {"delete-data": "data"}})
    rules = settled({"blast_radius_bounded": written}, Path("/srv/caf\udcc3\udca9"))
    problems = Problems(Path("config.yaml"), {})
    assert loaded_rules(rules, {}, problems) == ()
    (told,) = problems.found
    assert "the path of that is no UTF-8 here" in told.words
    assert told.key == "sentinel.blast_radius_bounded"
