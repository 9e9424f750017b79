"""A spool that bots of two databases share, as two configs in one folder do."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from bot.storage.spool import FileSpool
from tests.conftest import ROOT

STOP = {"proposal_id": "p1", "surface": "terminal", "kind": "person", "id": "ana"}
MANY = 150
#: What a bot of another database does meanwhile: keeps one stop after the other.
KEEPS = f"""
import sys
from pathlib import Path
from bot.storage.spool import FileSpool
spool = FileSpool(Path(sys.argv[1]), "other")
print("begins", flush=True)
for number in range({MANY}):
    spool.keep({{"proposal_id": f"p{{number}}", "surface": "terminal"}})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "spool.jsonl"


def test_each_sees_and_forgets_its_own_alone(path: Path) -> None:
    ours, others = FileSpool(path, "ours"), FileSpool(path, "others")
    ours.keep(STOP)
    others.keep(STOP)

    assert (ours.kept(), others.kept()) == ([STOP], [STOP])
    ours.forget(ours.kept())
    assert (ours.kept(), others.kept()) == ([], [STOP])


def test_what_an_older_version_kept_is_of_the_file_that_is_opened_and_of_no_store_in_memory(
    path: Path,
) -> None:
    FileSpool(path).keep(STOP)
    assert FileSpool(path, "ours").kept() == [STOP]
    assert FileSpool(path, "passing", unnamed=False).kept() == []


def test_what_is_kept_before_the_database_could_be_named_is_taken_up_once_it_is(path: Path) -> None:
    FileSpool(path, None).keep(STOP)
    spool = FileSpool(path, "ours")
    spool.forget(spool.kept())
    assert FileSpool(path, None).kept() == []


def test_what_waits_for_another_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    FileSpool(path, "others").keep(STOP)
    with caplog.at_level(logging.WARNING):
        FileSpool(path, "others")
        assert caplog.messages == []
        FileSpool(path, "ours")
    assert caplog.messages == [
        f"Stops in {path} that wait for a bot of another database, and are left to it: 1."
    ]


def test_none_is_lost_while_another_bot_forgets(path: Path) -> None:
    """It wrote the file anew without what had come meanwhile."""
    ours = FileSpool(path, "ours")
    words = [sys.executable, "-c", KEEPS, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"begins\n"
        while other.poll() is None:
            ours.keep(STOP)
            ours.forget([STOP])
    assert other.returncode == 0
    assert len(FileSpool(path, "other").kept()) == MANY
