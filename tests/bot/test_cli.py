"""The command line: what is printed, which exit code, never a traceback."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from bot.cli.app import app, main
from tests.by_hand import by_hand

COMMANDS = [
    *("run", "reload", "check-config", "propose", "pending", "show", "explain", "rules", "status"),
    *("freeze", "thaw", "audit", "backup", "restore", "bench"),
]


Done = subprocess.CompletedProcess[str]


class House:
    """A folder with the shipped config, in which commands are run; the bot as a process."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self._root = root
        shutil.copy(root / "config.yaml", folder)
        shutil.copytree(root / "examples", folder / "examples")

    def run(self, *words: str, said: str = "", **environment: str) -> subprocess.CompletedProcess:
        known = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        known |= {"PYTHONPATH": str(self._root), **environment}
        run = self._process if words[0] == "run" else self._here
        done = run(words, said, known)
        assert "Traceback" not in done.stdout + done.stderr
        return done

    def _process(self, words: Sequence[str], said: str, environment: Mapping[str, str]) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "bot", *words],
            cwd=self.folder,
            env=environment,
            input=said,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def _here(self, words: Sequence[str], said: str, environment: Mapping[str, str]) -> Done:
        """Run it in this process, which spares a second; it gets all that a process has."""
        out, err = _Paper(), _Paper()
        with ExitStack() as changed:
            changed.enter_context(chdir(self.folder))
            changed.enter_context(patch.dict(os.environ, environment, clear=True))
            changed.enter_context(patch.object(sys, "argv", ["signoff", *words]))
            changed.enter_context(patch.object(sys, "stdin", _Paper(said)))
            changed.enter_context(redirect_stdout(out))
            changed.enter_context(redirect_stderr(err))
            with pytest.raises(SystemExit) as end:
                main()
        return Done(list(words), int(end.value.code or 0), out.text, err.text)


class _Paper(io.TextIOWrapper):
    """A stream in memory, with bytes below it as the standard ones have."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), "utf-8")

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()


@pytest.fixture
def house(tmp_path: Path, root: Path) -> House:
    return House(tmp_path, root)


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory, root: Path) -> House:
    """A house in which a search was done and a mail waits; to be looked at only."""
    made = House(tmp_path_factory.mktemp("house"), root)
    done = made.run(
        "run", said="leila: propose @examples/search.json\nleila: propose @examples/mail.json\n"
    )
    assert done.returncode == 0, done.stderr
    return made


def test_help_names_every_command_and_the_exit_codes() -> None:
    answer = CliRunner().invoke(app, ["--help"])

    assert answer.exit_code == 0
    assert all(f"\n  {command} " in answer.output for command in COMMANDS)
    assert "Exit codes: 0 success, 1 refused or failed, 2 usage or bad config." in answer.output


def test_the_version_is_the_one_that_pyproject_names(root: Path) -> None:
    answer = CliRunner().invoke(app, ["--version"])

    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert (answer.exit_code, answer.output) == (0, f"signoff {project['version']}\n")


@pytest.mark.parametrize("command", [*COMMANDS, "audit verify", "audit export"])
def test_every_command_explains_itself(command: str) -> None:
    answer = CliRunner().invoke(app, [*command.split(), "--help"])

    assert answer.exit_code == 0
    assert len(answer.output.splitlines()) > 5


@pytest.mark.parametrize(
    "words",
    [
        ["nothing-like-this"],
        ["show"],
        ["propose", "plan.json"],
        ["pending", "0"],
        ["pending", "one"],
        ["audit", "verify", "--head", "abc"],
        ["--config"],
        ["rules", "a", "b"],
    ],
)
def test_a_mistake_in_what_was_typed_is_exit_2(words: list[str]) -> None:
    assert CliRunner().invoke(app, words).exit_code == 2


def test_a_config_that_is_not_there_is_exit_2_with_its_name(house: House) -> None:
    done = house.run("--config", "absent.yaml", "pending")

    assert done.returncode == 2
    assert "absent.yaml: there is no such file" in done.stderr


def test_a_bad_config_is_exit_2_with_every_place(house: House) -> None:
    path = house.folder / "config.yaml"
    path.write_text(path.read_text().replace("solo_operator:", "solo_operater:"))

    for command in (["run"], ["check-config"], ["pending"]):
        done = house.run(*command)
        assert done.returncode == 2
        assert 'solo_operater: there is no such key; did you mean "solo_operator"?' in done.stderr
    told = json.loads(house.run("check-config", "--json").stdout)
    assert told["valid"] is False
    assert [problem["key"] for problem in told["problems"]] == ["solo_operater"]
    assert told["problems"][0]["line"] > 0


def test_the_config_is_found_by_option_before_or_after_and_by_environment(house: House) -> None:
    (house.folder / "config.yaml").rename(house.folder / "other.yaml")

    assert house.run("check-config").returncode == 2
    assert house.run("--config", "other.yaml", "check-config").returncode == 0
    assert house.run("check-config", "--config", "other.yaml").returncode == 0
    assert house.run("check-config", SIGNOFF_CONFIG="other.yaml").returncode == 0


def test_the_shipped_config_holds_and_says_which_surfaces_are_off(house: House) -> None:
    done = house.run("check-config")

    assert done.returncode == 0
    assert "16 tools" in done.stdout
    assert "Discord is off: DISCORD_TOKEN is not set." in done.stdout


def test_looking_needs_no_database(house: House) -> None:
    assert json.loads(house.run("pending", "--json").stdout) == {"proposals": []}
    assert house.run("pending").stdout == "0 pending\n"
    assert house.run("show", "nothing").returncode == 1
    assert not (house.folder / "data").exists()


@pytest.mark.parametrize("command", [["audit", "verify"], ["freeze", "incident", "--as", "ana"]])
def test_a_database_that_is_gone_is_neither_sound_nor_frozen(
    house: House, command: list[str]
) -> None:
    done = house.run(*command)

    assert done.returncode == 1
    assert "There is no database" in done.stderr
    assert not (house.folder / "data").exists()


@pytest.fixture
def moved_in(lived_in: House, tmp_path: Path, root: Path) -> House:
    """A copy of the house in which something happened, to be changed."""
    made = House(tmp_path, root)
    shutil.copytree(lived_in.folder / "data", tmp_path / "data")
    return made


def test_a_misspelt_key_takes_no_brake_away(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(path.read_text().replace("solo_operator:", "solo_operater:"))

    frozen = moved_in.run("freeze", "incident", "--as", "ana")
    status = moved_in.run("status")
    verified = moved_in.run("audit", "verify")

    assert (frozen.returncode, status.returncode, verified.returncode) == (0, 0, 0)
    assert "FROZEN by ana" in status.stdout
    assert "solo_operater: there is no such key" in frozen.stderr
    assert "goes on under its old config" in frozen.stderr


def test_who_the_people_are_must_be_readable_to_freeze(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(path.read_text().replace("people:", "people: 7\nx:", 1))

    assert moved_in.run("freeze", "incident", "--as", "ana").returncode == 2


def test_pending_lists_what_waits(lived_in: House) -> None:
    found = json.loads(lived_in.run("--json", "pending").stdout)["proposals"]

    assert [(p["tool"], p["state"], p["actor"]) for p in found] == [
        ("send-email", "sentinel_approved", "leila")
    ]
    assert lived_in.run("pending").stdout.startswith("1 pending\n")


def test_show_says_what_the_tool_adds(lived_in: House) -> None:
    told = lived_in.run("show", "mail").stdout

    assert "The tool adds" in told
    assert "leaves by" in told


def test_show_is_one_object_with_the_promised_keys(lived_in: House) -> None:
    found = json.loads(lived_in.run("show", "search", "--json").stdout)

    promised = "proposal_id state tier tool_tier tool actor digest reason explanation decided_by"
    promised += " decided_at version reviews execution attention"
    assert set(promised.split()) <= found.keys()
    assert (found["state"], found["reason"]) == ("completed", "tool_succeeded")
    assert found["decided_by"] == {"kind": "tool", "id": "search"}


def test_show_and_explain_speak_to_people(lived_in: House) -> None:
    assert "Invoice 2847" in lived_in.run("show", "mail").stdout
    explained = lived_in.run("explain", "mail").stdout
    assert "prohibited_content" in explained
    assert "min_justification" in explained


def test_an_unknown_id_is_exit_1_with_a_sentence(lived_in: House) -> None:
    done = lived_in.run("show", "zzzz")

    assert done.returncode == 1
    assert "No proposal has the id" in done.stderr


def test_rules_are_listed_and_told(lived_in: House) -> None:
    listed = json.loads(lived_in.run("rules", "--json").stdout)["rules"]
    told = lived_in.run("rules", "recipients_allowed").stdout

    assert len(listed) == 9
    assert "Its own cases" in told
    assert lived_in.run("rules", "recipient_allowed").returncode == 1


def test_the_trail_verifies_and_is_exported_whole(lived_in: House) -> None:
    verified = json.loads(lived_in.run("audit", "verify", "--json").stdout)
    lines = lived_in.run("audit", "export").stdout.splitlines()

    assert verified["valid"]
    assert verified["entries"] == len(lines) > 5
    assert json.loads(lines[-1])["entry_hash"] == verified["head"]
    assert lived_in.run("audit", "verify", "--head", verified["head"]).returncode == 0
    assert lived_in.run("audit", "verify", "--head", "a" * 64).returncode == 1


def test_status_says_that_no_bot_runs(lived_in: House) -> None:
    found = json.loads(lived_in.run("status", "--json").stdout)

    assert (found["running"], found["pending"], found["frozen"]) == (False, 1, None)
    assert found["policy_in_force"] == found["policy_digest"]


def test_propose_answers_with_one_line_and_its_exit_code_says_whether_it_was_refused(
    house: House,
) -> None:
    done = house.run("propose", "examples/search.json", "--as", "leila")
    blocked = house.run("propose", "examples/transfer.json", "--as", "leila")
    stranger = house.run("propose", "-", "--as", "nobody", said="{}")

    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["value"]["count"] == 2
    assert blocked.returncode == 1
    assert json.loads(blocked.stdout)["reason"] == "tool_blocked"
    assert stranger.returncode == 1
    assert json.loads(stranger.stdout)["reason"] == "unknown_agent"
    assert house.run("propose", "absent.json", "--as", "leila").returncode == 1


def test_what_was_proposed_alone_is_shown_by_the_next_run(house: House) -> None:
    answer = json.loads(house.run("propose", "examples/mail.json", "--as", "leila").stdout)

    shown = house.run("run", said="\n").stdout

    assert answer["state"] == "sentinel_approved"
    assert f"approve {answer['proposal_id']}" in shown


def test_a_freeze_is_announced_where_the_running_bot_is_read(house: House) -> None:
    """Its tokens need not be set in the shell that freezes."""
    house.run("propose", "examples/search.json", "--as", "leila")
    database = house.folder / "data" / "signoff.db"
    kept = '{"at_ms": 1, "names": ["discord", "slack"], "lines": [], "troubles": {}}'
    by_hand(database, f"INSERT INTO flags (name, value) VALUES ('surfaces', '{kept}')")

    assert house.run("freeze", "incident", "--as", "ana").returncode == 0

    told = by_hand(database, "SELECT surface FROM outbox WHERE key LIKE 'freeze%' ORDER BY surface")
    assert told == [("discord",), ("slack",)]


def test_freeze_and_thaw_work_without_a_bot_and_for_operators_alone(house: House) -> None:
    house.run("propose", "examples/search.json", "--as", "leila")

    assert house.run("freeze", "odd", "mails").returncode == 0
    assert json.loads(house.run("status", "--json").stdout)["frozen"]["reason"] == "odd mails"
    waiting = json.loads(house.run("propose", "examples/tracker.json", "--as", "leila").stdout)
    assert waiting["state"] == "sentinel_approved"
    assert house.run("freeze", "--as", "cal", "why").returncode == 1
    assert house.run("thaw").returncode == 0
    assert json.loads(house.run("status", "--json").stdout)["frozen"] is None
    assert house.run("audit", "verify").returncode == 0


def test_a_copy_is_made_and_brought_back(house: House) -> None:
    house.run("propose", "examples/mail.json", "--as", "leila")

    assert house.run("backup", "copy.db").returncode == 0
    assert house.run("backup", "copy.db").returncode == 1
    house.run("propose", "examples/search.json", "--as", "leila")
    assert house.run("restore", "copy.db").returncode == 0
    assert house.run("show", "search").returncode == 1
    assert house.run("show", "mail").returncode == 0
    assert "restored from copy.db" in house.run("status").stdout
    assert list(house.folder.glob("**/*.restored*")) == []
    assert [file.stat().st_mode & 0o077 for file in house.folder.glob("**/*.db")] == [0, 0]


@pytest.mark.parametrize(
    "words",
    [
        ("freeze", "fire", "--as", "ana"),
        ("thaw", "--as", "ana"),
        ("propose", "--as", "leila", "examples/mail.json"),
    ],
)
def test_nothing_is_done_to_a_store_that_only_the_running_bot_has(
    house: House, words: tuple[str, ...]
) -> None:
    path = house.folder / "config.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join('database: "memory:"\n' if line.startswith("database:") else line for line in lines)
    )

    done = house.run(*words)

    assert (done.returncode, done.stdout) == (1, "")
    assert "memory:" in done.stderr


def test_nobody_to_reach_the_bot_is_exit_2(house: House) -> None:
    path = house.folder / "config.yaml"
    path.write_text(path.read_text().replace("{enabled: auto}", "{enabled: false}"))

    done = house.run("run")

    assert done.returncode == 2
    assert "Nobody could reach the bot" in done.stderr


def test_an_unknown_error_is_one_sentence_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bot.cli import app as module

    def broken(**_: object) -> None:
        raise RuntimeError("token=ghp_" + "a" * 36)

    monkeypatch.setattr(module, "app", broken)
    with pytest.raises(SystemExit) as ended:
        module.main()

    told = capsys.readouterr().err
    path = Path(told.split("stands in ")[1].strip().rstrip("."))
    kept = path.read_text()
    path.unlink()
    assert ended.value.code == 1
    assert "does not know (RuntimeError)" in told
    assert len(told.splitlines()) == 1
    assert "Traceback" in kept
    assert "a" * 36 not in kept
