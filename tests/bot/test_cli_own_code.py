"""Looking and bringing back from the command line where a tool's module never ends its import."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

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
    """A server that says nothing; what waited for it is forgotten as at the end of a process."""
    monkeypatch.setattr("bot.config.own_code._GIVEN_UP", [])
    for name in ("LOADED_S", "LOADED_AT_MOST_S"):
        monkeypatch.setattr(f"bot.cli.options.{name}", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


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


def test_the_file_and_the_line_that_hang_are_named(house: House) -> None:
    done = house.run("status")

    assert f"{house.folder / 'waiting_crm.py'}:3 has not been loaded" in done.stderr


@pytest.mark.parametrize(
    "insists",
    [
        "import signal; signal.signal(signal.SIGUSR2, signal.SIG_DFL)",
        "import threading; assert threading.current_thread() is threading.main_thread()",
    ],
)
def test_code_that_insists_on_the_main_thread_and_hangs_there_is_left_as_well(
    house: House, insists: str
) -> None:
    """Where it failed in a thread it was loaded once more, and waited for without end."""
    module = house.folder / "waiting_crm.py"
    module.write_text(f"{insists}\n{module.read_text()}")

    done = house.run("status")

    assert (done.returncode, "1 pending" in done.stdout) == (0, True)
    assert "waiting_crm.py:4 has not been loaded" in done.stderr


def test_code_that_takes_being_left_for_an_error_is_left_again(house: House) -> None:
    module = house.folder / "waiting_crm.py"
    waits = module.read_text().partition("\n\n\n")[0].replace("import socket\n\n", "")
    tried = f"import socket\n\ntry:\n    {waits}\nexcept BaseException:\n    {waits}\n"
    module.write_text(tried)

    assert "waiting_crm.py:6 has not been loaded" in house.run("status").stderr


def test_whoever_set_an_alarm_before_is_still_called(house: House) -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    set_before = signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        house.run("status")
        left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *set_before)

    assert 0 < left_s <= 60
    assert rung == [signal.SIGALRM]
