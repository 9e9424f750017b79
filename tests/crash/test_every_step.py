"""kill -9 at every step of a proposal's life: nothing is lost, doubled or forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """The program that dies on purpose, loaded once; it forks each life and each restart."""
    complaints = tmp_path_factory.mktemp("driver") / "stderr.txt"
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", "tests.crash.driver"]
    with (
        complaints.open("w") as stderr,
        subprocess.Popen(
            words, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=stderr, text=True
        ) as process,
    ):
        try:
            yield Driver(process, complaints)
        finally:
            process.kill()


class Driver:
    """Asks the program for deaths."""

    def __init__(self, process: subprocess.Popen[str], complaints: Path) -> None:
        self._process, self._complaints = process, complaints

    def deaths(self, folder: Path, *words: str) -> list[dict[str, Any]]:
        """Let lives die, and return what is told of each death."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(json.dumps([str(folder), *words]) + "\n")
        asked.flush()
        told: list[dict[str, Any]] = []
        while (line := answered.readline()) != "\n":
            assert line, self._complaints.read_text()[-2000:]
            told.append(json.loads(line))
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
    driver: Driver, tmp_path: Path, scenario: str
) -> None:
    told = driver.deaths(tmp_path / "life", scenario)

    assert len(told) >= 5
    assert {death["signal"] for death in told} == {9}
    for death in told:
        nothing_doubled(death, scenario)
        nothing_forgotten(death, scenario)
        told_as_it_was(death, scenario)


@pytest.mark.parametrize("scenario", ["repeated", "deferred", "restored"])
def test_a_death_within_the_restart_after_a_death_changes_nothing_of_that(
    driver: Driver, tmp_path: Path, scenario: str
) -> None:
    told = driver.deaths(tmp_path / "life", scenario, "twice")

    assert told
    for death in told:
        nothing_doubled(death, scenario)
        nothing_forgotten(death, scenario)
        told_as_it_was(death, scenario)
