"""Looking and bringing back from the command line where a tool's module never ends its import."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

import pytest

from bot.config.own_code import place_of
from tests.bot.cli_house import House

CODE = """\
import socket

with socket.create_connection({address!r}) as server: server.recv(1)


class Crm:
    reversible = True

    def execute(self, call):
        return {{}}
"""
TOOL = "  crm: {tier: CONFIRM, action_type: write, kind: python, class: 'waiting_crm:Crm'}\n"


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A server that says nothing; whoever waits for it is let go at the end of the test."""
    for name in ("LOADED_S", "LOADED_AT_MOST_S"):
        monkeypatch.setattr(f"bot.cli.options.{name}", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server
    for each in enumerate_threads():
        if each.name == "own code":
            each.join()


@pytest.fixture
def house(dead: socket.socket, tmp_path: Path, root: Path) -> Iterator[House]:
    """A house in which a mail waits, and since then a tool's module waits for a server."""
    made = House(tmp_path, root)
    assert made.run("run", said="leila: propose @examples/mail.json\n").returncode == 0
    (tmp_path / "waiting_crm.py").write_text(CODE.format(address=dead.getsockname()))
    path = tmp_path / "config.yaml"
    path.write_text(path.read_text().replace("\ntools:\n", f"\ntools:\n{TOOL}", 1))
    yield made
    sys.modules.pop("waiting_crm", None)


@pytest.mark.parametrize(("words", "told"), [("", "1 pending"), ("--json", '"pending": 1')])
def test_status_goes_on_without_code_that_hangs_and_says_so(
    house: House, words: str, told: str
) -> None:
    done = house.run("status", *words.split())

    assert done.returncode == 0
    assert "has not been loaded after 0.2 s" in done.stderr
    assert told in done.stdout


def test_a_card_is_shown_without_code_that_hangs_and_says_what_it_does_not_know(
    house: House,
) -> None:
    [mail] = (each for each in house.run("pending").stdout.split() if each.startswith("mail-"))

    done = house.run("show", mail)

    assert done.returncode == 0
    assert "has not been loaded after 0.2 s" in done.stderr
    assert "can take back is not known here" in done.stderr
    assert "Invoice 2847" in done.stdout


def test_nothing_is_brought_back_over_code_that_hangs(house: House) -> None:
    copy = house.folder / "copy.db"
    assert house.run("backup", str(copy)).returncode == 0
    before = (house.folder / "data" / "signoff.db").stat().st_ino

    done = house.run("restore", str(copy))

    assert done.returncode == 1
    assert "has not been loaded after 0.2 s" in done.stderr
    assert "nothing was brought back" in done.stderr
    assert (house.folder / "data" / "signoff.db").stat().st_ino == before


STAGING = """\
class Stage:
    reversible = deferred = True

    def execute(self, call):
        return {}

    def commit(self, call): ...

    def roll_back(self, call): ...
"""
STAGED = "  stage: {tier: PROPOSE, action_type: write, kind: python, class: 'staging:Stage'}\n"


def test_a_copy_of_an_older_version_is_brought_back_by_what_the_class_says_that_its_tool_stages(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows do not say so themselves, and what stages may have been committed since."""
    monkeypatch.delitem(sys.modules, "staging", raising=False)
    house = House(tmp_path, root)
    (tmp_path / "staging.py").write_text(STAGING)
    path = tmp_path / "config.yaml"
    path.write_text(path.read_text().replace("\ntools:\n", f"\ntools:\n{STAGED}", 1))
    document = json.loads((tmp_path / "examples" / "tracker.json").read_text())
    asked = document | {"proposal_id": "s1", "tool": "stage", "action_type": "write"}
    (tmp_path / "s1.json").write_text(json.dumps(asked))
    assert house.run("run", said="leila: propose @s1.json\napprove s1\n").returncode == 0
    assert house.run("backup", "copy.db").returncode == 0
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy, copy:
        copy.execute("UPDATE proposals SET rest = json_remove(rest, '$.execution.deferred')")

    assert house.run("restore", "copy.db").returncode == 0

    held = json.loads(house.run("show", "s1", "--json").stdout)
    assert (held["attention"], held["execution"]["verb"]) == ("outcome_unknown", "commit")


def test_the_file_and_the_line_that_hang_are_named(
    dead: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "waits_at_a_line.py"
    module.write_text(CODE.format(address=dead.getsockname()))
    monkeypatch.syspath_prepend(str(tmp_path))
    thread = Thread(target=import_module, args=("waits_at_a_line",), daemon=True)
    thread.start()
    talking, _ = dead.accept()

    with talking:
        assert place_of(thread) == f"{module}:3"
    thread.join()
