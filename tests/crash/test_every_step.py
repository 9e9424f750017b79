"""kill -9 at every step of a proposal's life: nothing is lost, doubled or forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.crash.life import SCENARIOS

TERMINAL = {"completed", "rejected", "rolled_back"}
#: What must have reached the world where a proposal of the scenario has this end.
COMPLETED = {
    "deferred": ["execute", "commit"],
    "rolled_back": ["execute", "commit"],
    "compensated": ["execute"],
    "restored": ["execute"],
    "confirmed": ["execute"],
    "repeated": ["execute"],
    "automatic": ["execute"],
    "deferred_at_length": ["execute", "commit"],
    "confirmed_at_length": ["execute"],
}
#: An idempotent tool may be called under the same key again, twice at most.
MOST = {"repeated": 3}

pytestmark = pytest.mark.timeout(900)


def deaths(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Let the driver die, and return what it tells of each death."""
    driver = [sys.executable, "-m", "tests.crash.driver", str(folder), *words]
    done = subprocess.run(driver, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [death for death in told if "error" in death] == []
    return told


def verbs(death: dict[str, Any]) -> list[str]:
    """Return each verb once, in order, however often one key was used."""
    return list(dict.fromkeys(verb for verb, _ in death["effects"]))


def nothing_doubled(death: dict[str, Any], scenario: str) -> None:
    calls = Counter(key for _, key in death["effects"])
    assert all(count <= MOST.get(scenario, 1) for count in calls.values()), death
    assert set(calls) <= {f"p1:{verb}:1" for verb in verbs(death)}, death


def nothing_forgotten(death: dict[str, Any], scenario: str) -> None:
    for when in ("found", "again", "later"):
        standing = death[when]
        assert standing["broken"] == [], death
        if standing["state"] == "executing":
            assert standing["attention"] == "outcome_unknown", death
    later = death["later"]
    assert later["state"] in TERMINAL or later["attention"] == "outcome_unknown", death
    if scenario in MOST:
        assert later["state"] in TERMINAL, death


def told_as_it_was(death: dict[str, Any], scenario: str) -> None:
    later = death["later"]
    match later["state"]:
        case "completed":
            assert verbs(death) == COMPLETED[scenario], death
            assert later["task"] == "done", death
        case "rolled_back":
            assert verbs(death) == ["execute", "roll_back"], death
            assert later["task"] == "backlog", death
        case "rejected":
            assert verbs(death) == [], death
            assert later["task"] == "backlog", death
        case _:
            assert later["task"] is None, death


@pytest.mark.parametrize("scenario", list(SCENARIOS))
def test_a_death_at_any_step_leaves_a_legal_state_one_effect_and_a_whole_trail(
    tmp_path: Path, scenario: str
) -> None:
    told = deaths(tmp_path / "life", scenario)

    assert len(told) >= 5
    assert {death["signal"] for death in told} == {9}
    for death in told:
        nothing_doubled(death, scenario)
        nothing_forgotten(death, scenario)
        told_as_it_was(death, scenario)


@pytest.mark.parametrize("scenario", ["repeated", "deferred", "restored"])
def test_a_death_within_the_restart_after_a_death_changes_nothing_of_that(
    tmp_path: Path, scenario: str
) -> None:
    told = deaths(tmp_path / "life", scenario, "twice")

    assert told
    for death in told:
        nothing_doubled(death, scenario)
        nothing_forgotten(death, scenario)
        told_as_it_was(death, scenario)
