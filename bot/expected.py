"""This module holds the exceptions that any part of the bot raises if it cannot start.

They stand apart so that no part has to import another one for them (see `bot.troubles`).
"""

from __future__ import annotations


class StartFailed(Exception):
    """The bot cannot start as it is configured; the message is a sentence for people."""


class SettingRefused(StartFailed):
    """A setting or a secret cannot be used; a person must change it before another start helps."""
