"""Looking from the command line at what a bot did: for people and machines, whatever its config."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.bot.cli_house import House


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory, root: Path) -> House:
    """A house in which a search was done and a mail waits; to be looked at only."""
    made = House(tmp_path_factory.mktemp("house"), root)
    done = made.run(
        "run", said="leila: propose @examples/search.json\nleila: propose @examples/mail.json\n"
    )
    assert done.returncode == 0, done.stderr
    return made


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


@pytest.mark.parametrize("words", [("freeze", "now", "--as", "ana"), ("thaw", "--as", "ana")])
def test_nothing_is_said_to_be_wrong_with_a_config_that_is_right(
    moved_in: House, words: tuple[str, ...]
) -> None:
    done = moved_in.run(*words)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_group_without_people_takes_no_brake_away(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(
        path.read_text().replace("groups: {} ", 'groups: {aprovers: {discord_role: "7"}} ', 1)
    )

    assert moved_in.run("check-config").returncode == 2
    assert moved_in.run("freeze", "incident", "--as", "ana").returncode == 0


def test_a_tool_whose_class_cannot_be_loaded_takes_no_brake_away(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    tool = "crm: {tier: CONFIRM, action_type: write, kind: python, class: nowhere:Crm}"
    path.write_text(path.read_text().replace("\ntools:\n", f"\ntools:\n  {tool}\n", 1))

    frozen = moved_in.run("freeze", "incident", "--as", "ana")
    status = moved_in.run("status")
    thawed = moved_in.run("thaw", "--as", "ana")

    assert (frozen.returncode, status.returncode, thawed.returncode) == (0, 0, 0)
    assert "FROZEN by ana" in status.stdout
    assert status.stderr.count("nowhere:Crm") == 1


def test_a_rule_that_cannot_be_loaded_takes_no_brake_away_and_status_says_which(
    moved_in: House,
) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(
        path.read_text().replace("\nsentinel:\n", "\nsentinel:\n  no_such: {level: hard}\n")
    )

    frozen, status = moved_in.run("freeze", "incident", "--as", "ana"), moved_in.run("status")

    assert (frozen.returncode, status.returncode) == (0, 0)
    assert "FROZEN by ana" in status.stdout
    assert "there is no rule no_such" in status.stderr
    assert "goes on under its old config" in status.stderr


def test_who_the_people_are_must_be_readable_to_freeze(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(path.read_text().replace("people:", "people: 7\nx:", 1))

    assert moved_in.run("freeze", "incident", "--as", "ana").returncode == 2


def test_more_pages_are_asked_for_as_it_is_typed_on_the_command_line(
    tmp_path: Path, root: Path
) -> None:
    house = House(tmp_path, root)
    mail = json.loads((house.folder / "examples" / "mail.json").read_text())
    (house.folder / "mails").mkdir()
    lines = ""
    for number in range(11):  # one agent has ten open at most
        actor, parameters = "nour" if number == 10 else "leila", {**mail["parameters"]}
        parameters["subject"] = f"Invoice {number}"
        file = house.folder / "mails" / f"{number}.json"
        file.write_text(json.dumps({**mail, "actor": actor, "parameters": parameters}))
        lines += f"{actor}: propose @mails/{number}.json\n"
    assert house.run("run", said=lines).returncode == 0

    first, second = house.run("pending").stdout, house.run("pending", "2").stdout

    assert first.startswith("11 pending, page 1 of 2\n")
    assert first.splitlines()[-1] == "More: signoff pending 2"
    assert "More" not in second


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


def test_a_tool_that_has_left_the_config_hides_no_card(moved_in: House) -> None:
    path = moved_in.folder / "config.yaml"
    path.write_text(path.read_text().replace("\n  send-email:", "\n  send-letter:", 1))

    shown = moved_in.run("show", "mail")

    assert (shown.returncode, "send-email" in shown.stdout) == (0, True), shown.stderr


def test_a_tool_whose_object_cannot_be_made_hides_no_card(moved_in: House) -> None:
    """The object of a tool is no concern of whoever merely looks: making it may hang, or fail."""
    (moved_in.folder / "broken.py").write_text(
        "class Tool:\n"
        "    reversible = True\n"
        "    def __init__(self): raise RuntimeError('no')\n"
        "    def execute(self, call): return {}\n"
        "    def roll_back(self, call): return {}\n"
    )
    path = moved_in.folder / "config.yaml"
    path.write_text(
        path.read_text().replace("kind: email", "kind: python\n    class: 'broken:Tool' #", 1)
    )

    shown = moved_in.run("show", "mail-")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "broken:Tool" in shown.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("leak", "-now"), "leak -now"),
        (("-", "--jsn", "leak", "--", "--as", "ben"), "- --jsn leak --as ben"),
        (("-account", "stolen", "--as=ana"), "-account stolen"),
        (("-customers", "mailed", "-crm"), "-customers mailed -crm"),
        (("mails", "-cconfig.yaml", "to", "--config", "config.yaml", "all", "-c"), None),
        (("mails", "-cconfig.yaml", "to", "--config", "config.yaml", "all"), "mails to all"),
    ],
)
def test_no_dash_in_a_reason_refuses_a_freeze(
    moved_in: House, words: tuple[str, ...], reason: str | None
) -> None:
    done = moved_in.run("freeze", *words)

    frozen = json.loads(moved_in.run("status", "--json").stdout)["frozen"]
    assert (done.returncode, frozen and frozen["reason"]) == (0 if reason else 2, reason)


@pytest.mark.parametrize("words", [("leak", "--as"), ("--json", "leak", "--config")])
def test_a_freeze_with_an_option_without_its_value_says_which(
    moved_in: House, words: tuple[str, ...]
) -> None:
    done = moved_in.run("freeze", *words)

    assert (done.returncode, words[-1] in done.stderr) == (2, True)
    assert "requires an argument" in done.stderr


def test_a_restore_that_ended_halfway_is_told_wherever_the_database_is_missed(
    moved_in: House,
) -> None:
    """Only the start said so; to whoever looked, nothing had ever been written here."""
    file = moved_in.folder / "data/signoff.db"
    assert moved_in.run("backup", "copy.db").returncode == 0
    file.rename(file.with_name("signoff.db.restored"))

    for words in (("status",), ("pending",), ("freeze", "fire"), ("audit", "verify")):
        done = moved_in.run(*words)
        assert "Run signoff restore again" in done.stdout + done.stderr, words

    assert moved_in.run("restore", "copy.db").returncode == 0
    assert "FROZEN" in moved_in.run("status").stdout


@pytest.mark.parametrize("command", ["show", "explain"])
def test_an_id_that_is_no_text_is_an_unknown_one(lived_in: House, command: str) -> None:
    done = lived_in.run("--json", command, "mail\udcff")

    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == "unknown_proposal"


@pytest.mark.parametrize("word", ["approve", "withdraw", "retry", "settle", "tools"])
def test_a_command_of_the_chat_is_likened_to_none_of_the_shell(lived_in: House, word: str) -> None:
    """`thaw` was suggested for `withdraw`, `restore` for `retry`."""
    done = lived_in.run(word, "mail")

    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{word}' is a command of the chat" in done.stderr
    assert "Did you mean" not in done.stderr


def test_whoever_misspells_a_command_of_the_shell_or_asks_for_help_is_helped(
    lived_in: House,
) -> None:
    assert "Did you mean 'show'?" in lived_in.run("shwo", "mail").stderr
    assert "signoff --help" in lived_in.run("help").stderr
