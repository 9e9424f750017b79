"""Limit the messages of a sender that are under way, so that others find places, too."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

from starlette.requests import Request

from bot.intake.http import protocol
from lifecycle.answers import Sender
from lifecycle.proposal import Identity

#: The key in the scope of a message that says that it has a place.
PLACE: Final = "signoff.place"
#: How soon somebody who was refused may find that a wait has ended, in seconds.
AGAIN_S: Final = 5


class Crowded(Exception):
    """The sender has as many messages under way as it may; the words say so."""


class Places:
    """Counts the messages under way, by sender; each keeps a connection.

    Without it, one agent whose waits take all connections keeps everybody out: other agents, their
    permits, and the health check. A sender alone gets half of the places, two get a third each: the
    next sender finds as many places as the fullest one has.
    """

    def __init__(self) -> None:
        """Start with all places free."""
        self._taken: Counter[Identity | None] = Counter()
        self._held: Counter[Identity | None] = Counter()

    @contextlib.contextmanager
    def place(self, incoming: Request, sender: Sender) -> Iterator[None]:
        """Have a place for a message while entered. Raises Crowded.

        A call within a message that has a place needs none of its own.
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
        """Count as a held answer while entered. Raises Crowded.

        The limit is half of the sender's places, so that it can also act upon what it waits for.
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
