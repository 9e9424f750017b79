"""This module holds the exception that any part of the bot raises if it cannot start.

It stands apart so that no part has to import another one for it (see `bot.troubles`).
"""

from __future__ import annotations


class StartFailed(Exception):
    """The bot cannot start as it is configured; the message is a sentence for people."""
