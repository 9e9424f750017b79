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


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('    discord: "911"\n', "    discord:\n", "agents.leila.discord"),
        ("    owner: olga\n", "    owner:\n", "agents.leila.owner"),
        ("    quorum: {class: single}\n", "    quorum:\n", "tools.production-deploy.quorum"),
        ("    quorum: {class: single}\n", "    quorum: ~\n", "tools.production-deploy.quorum"),
        ("    safety: destructive\n", "    safety:\n", "tools.production-deploy.safety"),
        ("    reviewers: approvers\n", "    reviewers:\n", "tools.send-email.reviewers"),
        ("    kind: email\n", "    kind: email\n    smtp:\n", "tools.send-email.smtp"),
        ("    kind: webhook\n", "    kind: webhook\n    secret_env:\n", ".secret_env"),
        ("permit_secret_env: SIGNOFF_PERMIT_SECRET", "permit_secret_env:", "permit_secret_env"),
        ("auto_approval: {by: nour, tiers: [PROPOSE]}", "auto_approval:", "auto_approval"),
        ("\nchat:\n", "\nchat:\n  discord:\n", "chat.discord"),
        ("\nchat:\n", "\nchat:\n  slack:\n", "chat.slack"),
    ],
)
def test_N04_a_key_that_nobody_gave_a_value_stops_the_start(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    """An empty `discord` was taken for none, an empty `quorum` for one person."""
    path = tmp_path / "config.yaml"
    text = BASE.read_text(encoding="utf-8")
    if old == "\nchat:\n":
        text = text[: text.index(old)] + "\nchat:\n"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    (found,) = [problem for problem in refused.value.problems if problem.key.endswith(key)]
    assert found.line > 0
    assert "nothing is written here" in found.words or "this must be a mapping" in found.words
