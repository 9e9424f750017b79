"""Places at the door: no agent has more of them than it leaves free for the others."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

from starlette.requests import Request

from bot.intake.http import protocol
from lifecycle.answers import Sender
from lifecycle.proposal import Identity

#: Where a message keeps that it has a place, for what is asked within it.
PLACE: Final = "signoff.place"
#: How soon somebody who was refused may find that a wait has ended, in seconds.
AGAIN_S: Final = 5


class Crowded(Exception):
    """The sender has as many messages under way as it may; says so."""


class Places:
    """Counts the messages under way, by sender: each keeps a connection.

    One agent whose waits took all connections kept everybody out: other agents, their permits, and
    whoever looks after the bot's health. A sender alone gets half of the places, two a third each:
    whoever comes next finds as many as the fullest has.
    """

    def __init__(self) -> None:
        """All places are free."""
        self._taken: Counter[Identity | None] = Counter()
        self._held: Counter[Identity | None] = Counter()

    @contextlib.contextmanager
    def place(self, incoming: Request, sender: Sender) -> Iterator[None]:
        """Have a place for a message while entered; raises Crowded.

        What is asked within a message that has one needs none of its own.
        """
        if PLACE in incoming.scope:
            yield
            return
        if self._taken[sender.identity] >= self._free():
            raise Crowded("You have too many messages under way at once. Let some of them end.")
        incoming.scope[PLACE] = True
        with _counted(self._taken, sender.identity):
            yield

    @contextlib.contextmanager
    def held(self, sender: Sender) -> Iterator[None]:
        """Be counted among those whose answer is held back; raises Crowded.

        At half of the sender's share, so that what it waits for it can also act upon.
        """
        if self._held[sender.identity] >= max(1, self._free() // 2):
            raise Crowded("You have too many waits at once. Ask without `wait`, or wait for fewer.")
        with _counted(self._held, sender.identity):
            yield

    def _free(self) -> int:
        return protocol.most_connections() - self._taken.total()


@contextlib.contextmanager
def _counted(counter: Counter[Identity | None], who: Identity | None) -> Iterator[None]:
    counter[who] += 1
    try:
        yield
    finally:
        counter[who] -= 1
        if not counter[who]:
            del counter[who]
