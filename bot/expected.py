"""The trouble that any part of the bot may have with its start; a sentence explains it."""

from __future__ import annotations


class StartFailed(Exception):
    """The bot cannot start as it is configured."""
