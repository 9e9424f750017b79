"""How long discord.py waits before it tries to connect again.

Its pauses grow with each attempt, to a quarter of an hour, and shrink again only after half an hour
without any: after an unsteady line the bot would stay deaf long after Discord can be reached, and
the session in which all is sent that was missed would be over.
"""

from __future__ import annotations

import sys
from typing import Final, cast

import discord
from discord.backoff import ExponentialBackoff

#: The longest pause after an attempt at which nobody was let in.
LONGEST_S: Final = 5.0


class Pauses(ExponentialBackoff[bool]):
    """Those of discord.py, and short ones where it did not get as far as to a connection.

    One that stood and was closed may end in another identification: Discord counts these, and takes
    the token away at a thousand a day.
    """

    def delay(self) -> float:
        """Return the next pause, in seconds; called where what went wrong is being handled."""
        pause_s = cast("float", super().delay())
        stood = isinstance(sys.exc_info()[1], discord.ConnectionClosed)
        return pause_s if stood else min(LONGEST_S, pause_s)


def shorten_pauses() -> None:
    """Have discord.py wait so in the whole process."""
    discord.client.ExponentialBackoff = Pauses  # type: ignore[attr-defined, assignment]
