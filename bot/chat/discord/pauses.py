"""Shortens the pauses of discord.py before it tries to connect again.

Its pauses grow with each attempt, to a quarter of an hour, and shrink again only after half an hour
without an attempt. After an unsteady line the bot would stay deaf long after Discord can be
reached, and the session in which Discord sends what was missed would have expired.
"""

from __future__ import annotations

import sys
from typing import Final, cast

import discord
from discord.backoff import ExponentialBackoff

#: The longest pause after an attempt that did not get as far as a connection.
LONGEST_S: Final = 5.0


class Pauses(ExponentialBackoff[bool]):
    """The pauses of discord.py, but short ones after an attempt that did not reach a connection.

    After a connection that stood and was closed, the library's pause is kept: the next one may
    identify anew, and Discord counts that and takes the token away at a thousand a day.
    """

    def delay(self) -> float:
        """Return the next pause in seconds; must be called while the error is being handled."""
        pause_s = cast("float", super().delay())
        stood = isinstance(sys.exc_info()[1], discord.ConnectionClosed)
        return pause_s if stood else min(LONGEST_S, pause_s)


def shorten_pauses() -> None:
    """Make discord.py use these pauses, in the whole process."""
    discord.client.ExponentialBackoff = Pauses  # type: ignore[attr-defined, assignment]
