"""A surface: one chat platform or the terminal, seen from what has to be shown and said there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from bot.chat.cards.content import CardContent
from lifecycle.records import LONGEST_WAIT_MS, Card, Message


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a card stands now; `full` says that the whole of every value can be seen there."""

    message_id: str
    full: bool = True


def once(message: Message) -> str:
    """Return what is the same at every attempt to say a message, and for no other one: its key
    comes again beside another database, with ids of proposals, and tells something else then."""
    return f"{message.key}:{message.created_at_ms}"


class SurfaceFailed(Exception):
    """The surface could not do it; what was to be shown stays due.

    `retry_after_s` is the platform's own word on when to come back, an hour at most, whatever it
    or something in between may say; `lasting` says that trying again as it is will not help (no
    permission, channel gone).
    """

    #: True of a failure after which what was asked for may have been done all the same.
    may_be_done: ClassVar[bool] = False

    def __init__(
        self, why: str, *, retry_after_s: float | None = None, lasting: bool = False
    ) -> None:
        super().__init__(why)
        if retry_after_s is not None:
            retry_after_s = min(retry_after_s, LONGEST_WAIT_MS / 1000)
        self.retry_after_s = retry_after_s
        self.lasting = lasting


class CardGone(SurfaceFailed):
    """The message in which the card stood was deleted; no review is changed by that."""


class Surface(Protocol):
    """What delivery and the notifier need of a platform."""

    name: str

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post the card with its seeds; the same `claim` again finds what was posted before.

        Raises SurfaceFailed.
        """

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render the card anew where it stands; a final one loses its seeds.

        Raises CardGone where the message was deleted, SurfaceFailed.
        """

    async def say(self, message: Message) -> str | None:
        """Say one kept message to its recipient, or to the channel; raises SurfaceFailed.

        Returns the id of the message under which words of ours can be replied to, None where that
        is none.
        """

    async def read_card(self, card: Card) -> bool:
        """Apply the decisions found on a card; True where it was read or nothing can be missed."""

    async def catch_up(self) -> int:
        """Read all open cards after a gap; return how many decisions were found."""

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Say who of those with an account here is still a member; None: it cannot be read."""

    def health(self) -> Sequence[str]:
        """Return lines for `status`: connected or not, and what is missing."""


@runtime_checkable
class HearsSince(Protocol):
    """A surface that hears people over a connection."""

    def heard_since(self) -> int | None:
        """Return since when the present connection stands, None where none does."""
