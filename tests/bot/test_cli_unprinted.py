"""An answer that cannot be printed undoes nothing, and the exit code says what was done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from bot.cli.app import main
from bot.cli.doors import told_apart
from bot.cli.streams import Unprinted
from tests.by_hand import by_hand
from tests.stage import staged

#: Told on standard error, done all the same.
REPORTS = [
    ("freeze", "fire", "--as", "ana"),
    ("freeze", "fire", "--json"),
    ("thaw",),
    ("audit", "verify"),
    ("check-config",),
    ("backup", "{folder}/copy.db"),
]
#: Nothing but their answer was asked for.
ASKED_FOR = [
    ("--help",),
    ("--version",),
    ("audit", "export"),
    ("explain", "mail"),
    ("pending",),
    ("pending", "--json"),
    ("rules",),
    ("show", "mail"),
    ("status",),
]

Ends = Callable[[TextIO, tuple[str, ...]], tuple[int, str]]


@pytest.fixture
async def folder(write_config: Callable[..., Path]) -> Path:
    """A folder in which a mail waits."""
    config = write_config()
    async with staged("sqlite:///data/signoff.db", config.parent) as world:
        await world.submits(proposal_id="mail")
    return config.parent


@pytest.fixture
def ends(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ends:
    """Run a command in this process, with that standard output; its exit code and complaints."""

    def ended(stdout: TextIO, words: tuple[str, ...]) -> tuple[int, str]:
        line = [word.format(folder=folder) for word in words]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["signoff", "--config", f"{folder}/config.yaml", *line])
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", sys.stderr)
            with pytest.raises(SystemExit) as end:
                main()
        stdout.close()  # as the end of the process does
        return int(end.value.code or 0), capsys.readouterr().err

    return ended


def full() -> TextIO:
    return Path("/dev/full").open("w")


def unread() -> TextIO:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def test_a_full_disk_under_the_answer_is_told_and_what_was_done_stays_done(
    ends: Ends, folder: Path
) -> None:
    for words in REPORTS:
        code, complaints = ends(full(), words)
        assert (words, code) == (words, 0)
        assert "cannot be written (No space left on device). The answer was: " in complaints

    kinds = by_hand(folder / "data" / "signoff.db", "SELECT kind FROM audit ORDER BY seq DESC")
    assert [kind for (kind,) in kinds[:3]] == ["thawed", "frozen", "frozen"]
    assert by_hand(folder / "copy.db", "SELECT proposal_id FROM proposals") == [("mail",)]
    refused, why = ends(full(), ("freeze", " ", "--json"))
    assert refused == 1
    assert '"code": "reason_required"' in why


def test_what_was_asked_for_and_is_not_whole_is_a_failure(ends: Ends) -> None:
    for words in ASKED_FOR:
        code, complaints = ends(full(), words)
        assert (words, code) == (words, 1)
        assert complaints.count("\n") == 1
        assert "No space left on device" in complaints


def test_a_reader_that_has_read_enough_is_no_failure(ends: Ends) -> None:
    for words in (*ASKED_FOR, *REPORTS[:-1]):
        assert (words, ends(unread(), words)) == (words, (0, ""))
    assert ends(unread(), ("freeze", " ", "--as", "ana"))[0] == 1
    assert ends(unread(), ("show", "nobody"))[0] == 1


@pytest.fixture
def closed(folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Freeze by a process that was given no standard stream at all, then two that were."""
    signoff = f"{sys.executable} -m bot --config {folder}/config.yaml"
    script = f"{signoff} freeze fire --json <&- >&- 2>&-; echo $?; {signoff} status >&-; echo $?"
    return subprocess.run(
        ["/bin/sh", "-c", script],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_closed_streams_are_streams_to_which_nobody_listens(
    closed: subprocess.CompletedProcess[str], folder: Path
) -> None:
    assert (closed.stdout.split(), closed.stderr) == (["0", "0"], "")
    assert by_hand(folder / "data" / "signoff.db", "SELECT value FROM flags WHERE name = 'freeze'")


@pytest.mark.parametrize(
    ("why", "left"), [(BrokenPipeError(32, "Broken pipe"), True), (OSError(28, "full"), False)]
)
def test_what_mcp_cannot_print_is_told_as_any_answer(why: OSError, left: bool) -> None:
    within = ExceptionGroup("serving", [ExceptionGroup("writing", [why])])
    other = ExceptionGroup("serving", [ValueError("no number")])

    lost = told_apart(within)

    assert isinstance(lost, Unprinted)
    assert (str(lost), lost.reader_left) == (why.strerror, left)
    assert told_apart(other) is other


class Interrupted:
    """A standard input at which somebody types Ctrl-C."""

    buffer = property(lambda self: self)

    def read(self, _most: int) -> bytes:
        raise KeyboardInterrupt


def test_ctrl_c_is_a_word_and_exit_1(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Interrupted())

    assert ends(unread(), ("propose", "-", "--as", "leila")) == (1, "Stopped.\n")


def test_a_standard_input_that_cannot_be_read_is_named(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below nohup, for example, which gives a program an unreadable one."""
    with os.fdopen(os.open(os.devnull, os.O_WRONLY)) as unreadable:
        monkeypatch.setattr(sys, "stdin", unreadable)
        ended = ends(unread(), ("propose", "-", "--as", "leila"))

    assert ended == (1, "Standard input cannot be read (Bad file descriptor).\n")


def test_what_was_done_or_not_is_one_object_for_whoever_reads_json(
    ends: Ends, folder: Path, tmp_path: Path
) -> None:
    asked = {
        ("show", "nobody", "--json"): (1, "unknown_proposal"),
        ("--json", "explain", "nobody"): (1, "unknown_proposal"),
        ("freeze", " ", "--json"): (1, "reason_required"),
        ("thaw", "--as", "ben", "--json"): (1, "not_an_operator"),
        ("rules", "nothing", "--json"): (1, None),
    }
    spoilt = (folder / "config.yaml").read_text().replace("solo_operator", "solo_operater")
    for words, (code, name) in asked.items():
        with (tmp_path / "answer").open("w") as answer:
            ended = ends(answer, words)
        told = json.loads((tmp_path / "answer").read_text())
        assert (words, ended[0], told["done"], told["code"]) == (words, code, False, name)
        assert told["words"] in ended[1]
    (folder / "config.yaml").write_text(spoilt)
    with (tmp_path / "answer").open("w") as answer:
        assert ends(answer, ("pending", "--json"))[0] == 2
    told = json.loads((tmp_path / "answer").read_text())
    assert [each["key"] for each in told["problems"]] == ["solo_operater"]
    for words in (("--json", "backup", "{folder}/copy.db"), ("thaw", "--json")):
        with (tmp_path / "answer").open("w") as answer:
            assert ends(answer, words)[0] == 0
        assert json.loads((tmp_path / "answer").read_text())["done"] is True
