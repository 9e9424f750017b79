"""This module holds the notifier of `signoff propose`, which speaks to nobody.

Cards and messages wait in the store for the next `signoff run`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.review import Absent


class Quiet:
    """Implements the port Notifier without a platform."""

    def __init__(self, surfaces: tuple[str, ...]) -> None:
        """Take the names of the surfaces on which the running bot will show what was done."""
        self._surfaces = surfaces

    def nudge(self) -> None:
        """Do nothing: nobody listens here."""

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""
        return self._surfaces

    def alert(self, words: str) -> None:
        """Do nothing: nobody listens here."""
        del words

    async def read_cards(self, proposal_id: str) -> bool:
        """Return False: no card can be read here, so no window closes."""
        del proposal_id
        return False

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        """Return nobody: membership is read by the running bot."""
        del people, only_certain
        return frozenset()

    async def catch_up(self) -> int:
        """Return 0: nothing is read here."""
        return 0

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Return True: the running bot hears the surfaces."""
        del proposal_id, but
        return True
