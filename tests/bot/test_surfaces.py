"""Which surfaces are on is said at the start, and never guessed."""

from __future__ import annotations

import pytest

from bot.config import load_config
from bot.config.surfaces import choose

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


def test_a_solo_operator_is_said(write_config) -> None:
    config = load_config(write_config(("solo_operator: false", "solo_operator: true")))

    assert any("solo_operator" in note for note in choose(config, {}, attached=True).notes)
