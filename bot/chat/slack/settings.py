"""Reads the settings of the Slack surface from the config and the environment.

Twin: `discord/settings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.config import Config
from bot.config.models import SlackEntry
from bot.config.surfaces import token_fault
from bot.expected import SettingRefused


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """Where and as whom to connect. `usergroups` maps a group to the user group a card calls.

    With an app token events come over Socket Mode; else signed, to `entry.http`.
    """

    entry: SlackEntry
    bot_token: str = field(repr=False)
    app_token: str | None = field(default=None, repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    usergroups: Mapping[str, str] = field(default_factory=dict)


def slack_settings(config: Config, environment: Mapping[str, str]) -> SlackSettings:
    """Return the settings; raises SettingRefused if Slack or a secret that it needs is missing, or
    if a token has not the form of one."""
    entry = config.chat.slack
    if entry is None:
        raise SettingRefused("chat.slack is not in the config.")
    bot_token = environment.get(entry.bot_token_env, "").strip()
    app_token = environment.get(entry.app_token_env or "", "").strip()
    secret = environment.get(entry.signing_secret_env or "", "").strip()
    if not bot_token or not (app_token or secret):
        raise SettingRefused(
            f"Slack needs {entry.bot_token_env}, and an app token (Socket Mode) or a signing "
            "secret (HTTP events): without either nobody could tell Slack's word from a forgery."
        )
    for name in (entry.bot_token_env, entry.app_token_env):
        if fault := token_fault(name, environment):
            raise SettingRefused(fault)
    groups = {name: group.slack_usergroup for name, group in config.groups.items()}
    return SlackSettings(
        entry=entry,
        bot_token=bot_token,
        app_token=app_token or None,
        signing_secret=secret or None,
        usergroups={name: usergroup for name, usergroup in groups.items() if usergroup},
    )
