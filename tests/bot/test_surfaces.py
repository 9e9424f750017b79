"""Which surfaces are on is said at the start, and never guessed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from bot.chat.discord.settings import discord_settings
from bot.chat.slack.settings import slack_settings
from bot.config import load_config
from bot.config.programs import with_python
from bot.config.surfaces import choose
from bot.expected import StartFailed

DISCORD = {"DISCORD_TOKEN": "t"}
SLACK = {"SLACK_BOT_TOKEN": "t", "SLACK_APP_TOKEN": "t"}


@pytest.mark.parametrize(
    ("environment", "attached", "names"),
    [
        ({}, True, ("terminal",)),
        ({}, False, ()),
        (DISCORD, True, ("discord",)),
        (SLACK, True, ("slack",)),
        (DISCORD | SLACK, True, ("discord", "slack")),
        ({"SLACK_BOT_TOKEN": "t"}, True, ("terminal",)),
        ({"DISCORD_TOKEN": ""}, True, ("terminal",)),
    ],
)
def test_a_surface_is_on_where_its_token_is_and_the_terminal_where_none_is(
    write_config, environment: dict[str, str], attached: bool, names: tuple[str, ...]
) -> None:
    choice = choose(load_config(write_config()), environment, attached=attached)

    assert choice.names == names
    assert choice.nothing == (not names)


def test_an_absent_token_is_said(write_config) -> None:
    notes = choose(load_config(write_config()), {}, attached=True).notes

    assert "Discord is off: DISCORD_TOKEN is not set." in notes
    assert "Slack is off: SLACK_BOT_TOKEN is not set." in notes
    assert "The terminal trusts whoever types at it." in notes


@pytest.mark.parametrize(("written", "on"), [("true", True), ("false", False)])
def test_the_terminal_can_be_switched(write_config, written: str, on: bool) -> None:
    config = load_config(write_config(("{enabled: auto}", f"{{enabled: {written}}}")))

    assert choose(config, {}, attached=False).terminal is on
    assert choose(config, DISCORD, attached=True).terminal is on


def test_http_alone_starts_and_says_what_it_cannot(write_config) -> None:
    config = load_config(write_config(("http: {enabled: false", "http: {enabled: true")))

    choice = choose(config, {}, attached=False)

    assert not choice.nothing
    assert any("PROPOSE and CONFIRM cannot open" in note for note in choice.notes)


@pytest.mark.parametrize(
    ("host", "place"),
    [("127.0.0.1", "127.0.0.1:8080"), ('"::1"', "[::1]:8080"), ("localhost", "localhost:8080")],
)
def test_where_agents_reach_the_bot_is_said(write_config, host: str, place: str) -> None:
    path = write_config(OPEN, ("port: 8080", f"host: {host}, port: 8080"))

    assert f"HTTP is on at {place}, with MCP and AAP." in notes_of(path, {})
    assert "HTTP is on" not in str(notes_of(write_config(), {}))


def test_a_solo_operator_is_said(write_config) -> None:
    config = load_config(write_config(("solo_operator: false", "solo_operator: true")))

    assert any("solo_operator" in note for note in choose(config, {}, attached=True).notes)


@pytest.mark.parametrize(
    ("argv", "missing"),
    [
        ('["python3", "examples/tools/serch.py"]', "examples/tools/serch.py"),
        ('["tools/serch", "now"]', "tools/serch"),
        ('["a-program-of-nobody"]', "a-program-of-nobody"),
        ('["sh", "-c", "true"]', None),
        ('["./there", "nowhere.py"]', None),
    ],
)
def test_a_program_that_is_not_there_is_said_before_its_first_call(
    write_config, argv: str, missing: str | None
) -> None:
    path = write_config(('execute: ["true"], timeout', f"execute: {argv}, timeout"))
    (path.parent / "there").touch()
    notes = choose(load_config(path), dict(os.environ), attached=True).notes

    said = [note for note in notes if note.startswith("search cannot execute")]
    assert said == ([f"search cannot execute: {missing} is not there."] if missing else [])


def test_the_python_that_every_tool_finds_is_there(write_config, tmp_path: Path) -> None:
    path = write_config(('execute: ["true"], timeout', 'execute: ["python3", "-c", ""], timeout'))
    beside_no_python = {"PATH": str(tmp_path)}

    assert "search cannot execute" not in str(notes_of(path, beside_no_python))


def test_the_operators_own_programs_come_before_that_python() -> None:
    handed_on = with_python({"PATH": "/own", "HOME": "/"})
    assert handed_on == {"PATH": f"/own{os.pathsep}{Path(sys.executable).parent}", "HOME": "/"}


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("    reversible = True", ["execute", "roll_back"]),
        ("    reversible = deferred = True", ["execute", "roll_back", "commit"]),
        ("    def execute(self, call): ...", []),
        ("    reversible = True\n    def execute(self, call): ...", ["roll_back"]),
    ],
)
def test_a_method_that_the_start_would_miss_is_said_by_the_check(
    write_config, tmp_path: Path, body: str, missing: list[str]
) -> None:
    module = f"own_methods_{abs(hash(body))}"
    (tmp_path / f"{module}.py").write_text(f"class Tool:\n{body}\n")
    own = f'own: {{tier: CONFIRM, action_type: read, kind: python, class: "{module}:Tool"}}'
    path = write_config(("tools:\n", f"tools:\n  {own}\n"))

    told = [note for note in notes_of(path, {}) if note.startswith("own ")]

    assert told == [
        f"own cannot {verb}: {module}:Tool has no {verb}(call) of its own." for verb in missing
    ]


def test_a_method_that_takes_no_call_is_said_by_the_check(write_config, tmp_path: Path) -> None:
    body = "class Tool:\n    def execute(self): ...\n    reversible = True\n    roll_back = print\n"
    (tmp_path / "own_misshapen.py").write_text(body)
    own = 'own: {tier: CONFIRM, action_type: read, kind: python, class: "own_misshapen:Tool"}'
    path = write_config(("tools:\n", f"tools:\n  {own}\n"))

    told = [note for note in notes_of(path, {}) if note.startswith("own ")]

    assert told == ["own cannot execute: own_misshapen:Tool must have it as execute(self, call)."]


def test_a_commit_that_nobody_calls_is_said_before_a_start(tmp_path: Path, write_config) -> None:
    (tmp_path / "own_commits.py").write_text("class Tool:\n    execute = commit = print\n")
    own = 'own: {tier: CONFIRM, action_type: read, kind: python, class: "own_commits:Tool"}'
    path = write_config(("tools:\n", f"tools:\n  {own}\n"))

    (told,) = [note for note in notes_of(path, {}) if note.startswith("own ")]

    assert told.startswith(
        "own cannot commit: own_commits:Tool has a commit(call) that nobody calls"
    )


LONG = "a-token-that-nobody-guesses"
OPEN = ("http: {enabled: false", "http: {enabled: true")
NOUR = 'nour: {discord: "912", roles: [reader, writer]'


def notes_of(path: Path, environment: dict[str, str]) -> list[str]:
    return list(choose(load_config(path), environment, attached=True).notes)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "nour cannot speak over HTTP: T_NOUR is not set."),
        ("short", "T_NOUR is short: a token has 16 characters at least."),
        ("t\u00f6ken" + LONG, "nour cannot speak over HTTP: T_NOUR is not one line of ASCII."),
        (f"a\n{LONG}", "nour cannot speak over HTTP: T_NOUR is not one line of ASCII."),
        (LONG, "nour and crm-sensor cannot speak over HTTP: they have the same token."),
    ],
)
def test_a_token_that_is_none_is_said_once(write_config, token: str, words: str) -> None:
    path = write_config(OPEN, (NOUR, f"{NOUR}, token_env: T_NOUR"))
    given = {"T_NOUR": token, "SIGNOFF_TOKEN_CRM_SENSOR": LONG}

    told = [note for note in notes_of(path, given) if "nour" in note or "T_NOUR" in note]

    assert told == [words]
    for good in (LONG + "2", "0123456789abcdef"):  # the shortest has 16 characters
        assert not any("token" in note for note in notes_of(path, given | {"T_NOUR": good}))


@pytest.mark.parametrize(
    ("secret", "end"),
    [
        ("", ": HOOK is not set."),
        (" \n", ": HOOK holds nothing."),
        ("whsec_", ": HOOK holds nothing."),
        ("whsec_%%%", ", or cannot check who calls: HOOK is no base64."),
        ("whsec_c2VjcmV0LXNlY3JldA", None),
        ("c2VjcmV0LXNlY3JldA==", None),
    ],
)
@pytest.mark.parametrize("who", ["nour", "production-deploy"])
def test_a_secret_that_signs_nothing_is_said_once(
    write_config, who: str, secret: str, end: str | None
) -> None:
    back = f"{NOUR}, callback_url: http://127.0.0.1:9/cb, callback_secret_env: HOOK"
    url = "url: http://127.0.0.1:9000/deploy"
    change = (NOUR, back) if who == "nour" else (url, f"{url}\n    secret_env: HOOK")
    said = f"{who} is not called{' back' if who == 'nour' else ''}"

    told = [note for note in notes_of(write_config(OPEN, change), {"HOOK": secret}) if said in note]

    assert told == ([said + end] if end else [])


def test_a_plain_text_signs_the_calls_of_a_tool_but_not_those_of_an_agent(write_config) -> None:
    url = "url: http://127.0.0.1:9000/deploy"
    back = f"{NOUR}, callback_url: http://127.0.0.1:9/cb, callback_secret_env: HOOK"
    path = write_config(OPEN, (NOUR, back), (url, f"{url}\n    secret_env: HOOK"))

    told = [note for note in notes_of(path, {"HOOK": "just words"}) if "HOOK" in note]

    assert told == ["nour is not called back, or cannot check who calls: HOOK is no base64."]


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ("DISCORD_TOKEN", {}, "what speaks for the bot on Discord: DISCORD_TOKEN."),
        ("SLACK_BOT_TOKEN", {}, "what speaks for the bot on Slack: SLACK_BOT_TOKEN."),
        ("SLACK_APP_TOKEN", {}, "what hears Slack's events: SLACK_APP_TOKEN."),
        ("SLACK_SIGN", {}, "what signs Slack's events: SLACK_SIGN."),
        ("SIGNOFF_PERMIT_SECRET", {}, "what signs permits: SIGNOFF_PERMIT_SECRET."),
        (
            "T_NOUR",
            {"T_NOUR": LONG, "SLACK_SIGN": f"{LONG}\n"},
            "what signs Slack's events: T_NOUR, and SLACK_SIGN holds the same.",
        ),
        ("T_NOUR", {"T_NOUR": LONG, "SLACK_SIGN": f"{LONG}2"}, None),
        ("T_NOUR", {"T_NOUR": "", "SLACK_SIGN": ""}, None),
    ],
)
@pytest.mark.parametrize("key", ["token_env", "callback_secret_env"])
def test_a_secret_of_the_bot_that_an_agent_is_given_is_said(
    write_config, key: str, given: str, environment: dict[str, str], said: str | None
) -> None:
    back = ", callback_url: http://127.0.0.1:9/cb" if key == "callback_secret_env" else ""
    slack = ("channel: C0OPS", "channel: C0OPS, signing_secret_env: SLACK_SIGN")
    path = write_config(slack, (NOUR, f"{NOUR}{back}, {key}: {given}"))

    told = [note for note in notes_of(path, environment) if " is given what " in note]

    assert told == ([f"nour is given {said} Give it a secret of its own."] if said else [])


@pytest.mark.parametrize("broken", ["{0}\n{0}", "{0}\x00", "{0}\u00e4"])
@pytest.mark.parametrize("variable", ["DISCORD_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
def test_a_token_that_cannot_be_sent_stops_the_start_and_is_noted_before(
    write_config, variable: str, broken: str
) -> None:
    """Two lines were pasted: the bot tried for ever, and nobody could reach it."""
    given = {"DISCORD_TOKEN": LONG, "SLACK_BOT_TOKEN": LONG, "SLACK_APP_TOKEN": f"{LONG}\n"}
    wrong = given | {variable: broken.format(LONG)}
    config = load_config(write_config())
    words = f"{variable} is not one line of ASCII, so that it is no token: copy it anew."
    settings = discord_settings if variable == "DISCORD_TOKEN" else slack_settings

    assert f"No bot starts: {words}" in choose(config, wrong, attached=False).notes
    with pytest.raises(StartFailed, match=re.escape(words)) as refused:
        settings(config, wrong)
    assert LONG not in str(refused.value)
    assert not any("No bot starts" in note for note in choose(config, given, attached=False).notes)
    assert LONG not in repr(settings(config, given)), "what is logged of settings is no secret"
