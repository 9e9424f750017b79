"""The command line: what is printed, which exit code, never a traceback."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES
from tests.bot.cli_house import House
from tests.by_hand import by_hand

COMMANDS = [
    *("run", "reload", "check-config", "propose", "pending", "show", "explain", "rules", "status"),
    *("freeze", "thaw", "audit", "backup", "restore", "bench"),
]


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
        ["audit", "verify", "--head", "0" * 64],
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
    for command in (["pending"], ["show", "p1"], ["explain", "p1"]):
        assert "`signoff status`, `freeze`, `thaw`" in house.run(*command).stderr
    told = json.loads(house.run("check-config", "--json").stdout)
    assert told["valid"] is False
    assert [problem["key"] for problem in told["problems"]] == ["solo_operater"]
    assert told["problems"][0]["line"] > 0


def test_a_token_that_is_none_is_exit_2_because_no_restart_mends_it(house: House) -> None:
    done = house.run("run", DISCORD_TOKEN="two\nlines")

    assert done.returncode == 2
    assert "DISCORD_TOKEN is not one line of ASCII" in done.stderr
    assert "two" not in done.stderr


def test_no_brake_is_promised_where_it_is_the_people_that_are_wrong(house: House) -> None:
    path = house.folder / "config.yaml"
    path.write_text(path.read_text().replace("people:", "people: 7\nx:", 1))

    assert "`freeze`" not in house.run("pending").stderr


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
    told = json.loads(house.run("pending", "--json").stdout)
    status = json.loads(house.run("status", "--json").stdout)
    missed = f"There is no database {house.folder / 'data' / 'signoff.db'}: "

    assert told["proposals"] == []
    assert told["no_database"] == status["no_database"]
    assert status["no_database"].startswith(missed)
    assert house.run("pending").stdout.startswith(f"0 pending\n{missed}")
    assert missed in house.run("status").stdout
    assert not (house.folder / "data").exists()


@pytest.mark.parametrize("command", ["show", "explain"])
def test_what_is_in_no_database_is_not_called_unknown(house: House, command: str) -> None:
    done = house.run(command, "nothing")

    assert done.returncode == 1
    assert done.stderr.startswith("There is no database")


@pytest.mark.parametrize("command", [["audit", "verify"], ["freeze", "incident", "--as", "ana"]])
def test_a_database_that_is_gone_is_neither_sound_nor_frozen(
    house: House, command: list[str]
) -> None:
    done = house.run(*command)

    assert done.returncode == 1
    assert "There is no database" in done.stderr
    assert not (house.folder / "data").exists()


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


def test_a_document_that_is_one_byte_too_large_is_refused_as_that(house: House) -> None:
    """Cut off at the limit it would be no JSON."""
    said = '{"a":"' + "x" * (DOCUMENT_LIMIT_BYTES + 1 - len('{"a":""}')) + '"}'
    refused = house.run("propose", "-", "--as", "leila", said=said)

    assert json.loads(refused.stdout)["reason"] == "too_large"


def test_a_credential_behind_as_is_not_shown_and_does_not_stand_in_the_trail(house: House) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    refused = house.run("propose", "-", "--as", token, said="{}")
    frozen = house.run("freeze", "fire", "--as", token)
    exported = house.run("audit", "export")

    assert (refused.returncode, frozen.returncode) == (1, 1)
    assert "unknown_agent" in exported.stdout
    assert "not_an_operator" in frozen.stderr
    for done in (refused, frozen, exported):
        assert token not in done.stdout + done.stderr


def test_a_credential_in_place_of_a_rule_is_not_repeated(house: House) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    refused = house.run("rules", token, "--json")

    assert refused.returncode == 1
    assert "There is no rule" in refused.stderr
    assert token not in refused.stdout + refused.stderr


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


def test_an_unknown_error_is_one_sentence_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In a container, where each process has the same id, the file of a second one was refused."""
    from bot.cli import app as module

    def broken(**_: object) -> None:
        raise RuntimeError("token=ghp_" + "a" * 36)

    monkeypatch.setattr(module, "app", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            module.main()

    *_, told = capsys.readouterr().err.splitlines()
    kept = Path(told.split("stands in ")[1].rstrip(".")).read_text()
    assert len(list(tmp_path.iterdir())) == 2
    assert ended.value.code == 1
    assert "does not know (RuntimeError)" in told
    assert "Traceback" in kept
    assert "a" * 36 not in kept
