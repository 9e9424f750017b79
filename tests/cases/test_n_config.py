"""Cases N on the level of the config: half-working approval must not look like working approval."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"


def test_N04_both_platforms_may_be_configured_at_once() -> None:
    chat = load_config(BASE).chat

    assert chat.discord is not None
    assert chat.discord.channel == "701"
    assert chat.slack is not None
    assert chat.slack.channel == "C0OPS"


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("discord: {token_env:", "discord: {bot_token:", "chat.discord.bot_token", "no such key"),
        ("discord: {token_env:", "discord: {bot_token:", "chat.discord.token_env", "is needed"),
        ("  slack: {bot_token_env", "  slak: {bot_token_env", "chat.slak", 'did you mean "slack"?'),
        (', channel: "701"', ', channels: "701"', "chat.discord.channel", "is needed"),
        ("chat:\n", "chats:\n", "chats", 'did you mean "chat"?'),
    ],
)
def test_N04_a_renamed_key_stops_the_start(
    tmp_path: Path, old: str, new: str, key: str, words: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(BASE.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    found = [problem for problem in refused.value.problems if problem.key == key]
    assert [problem for problem in found if words in problem.words]
