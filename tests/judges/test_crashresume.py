"""crashresume judges Signoff: a process killed after each effect, and everything done again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the judge says of the product, and of subjects that are wrong on purpose."""
    folder = tmp_path_factory.mktemp("judged")
    driver = [sys.executable, "-m", "tests.judges.crashing", str(folder)]
    done = subprocess.run(driver, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_death_after_any_effect_loses_nothing_does_nothing_twice_and_ends_as_without_it(
    told: dict[str, Any],
) -> None:
    signoff = told["signoff"]

    assert signoff["findings"] == [], signoff["words"]
    assert signoff["points"] == signoff["killed"] == 7


def test_after_a_death_only_what_is_marked_idempotent_is_called_again_and_people_look_at_the_rest(
    told: dict[str, Any],
) -> None:
    signoff = told["signoff"]

    assert (signoff["called_again"], signoff["looked"]) == (1, 6)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("blind", "effect_replayed"),
        ("forgetting", "effect_replayed"),
        ("denying", "resume_diverged"),
        ("away", "resume_diverged"),
    ],
)
def test_the_judge_finds_people_who_do_not_look_and_a_store_that_does_not_last(
    told: dict[str, Any], wrong: str, found: str
) -> None:
    assert told[wrong]["findings"] == [found], told[wrong]["words"]
