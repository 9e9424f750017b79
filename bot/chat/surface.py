"""Defines what the bot needs of a surface: to post and edit cards, say messages, read decisions.

Each chat platform and the terminal implement `Surface`; `showing/` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, runtime_checkable

from bot.chat.cards.content import CardContent
from lifecycle.records import LONGEST_WAIT_MS, Card, Message

#: What a surface could not do is tried again after this pause at most, unless it asks for more.
LONGEST_PAUSE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a card stands now. `full` says that the whole of every value can be seen there; `place`
    is the channel, empty on a surface that has but one."""

    message_id: str
    full: bool = True
    place: str = ""


def once(message: Message) -> str:
    """Return a key that is the same at every attempt to say this message and for no other message.

    The message's own key is not enough: beside another database ids of proposals come again, and a
    message with the same key then tells something else.
    """
    return f"{message.key}:{message.created_at_ms}"


class SurfaceFailed(Exception):
    """The surface could not do what was asked; what was to be shown stays due.

    `retry_after_s` is the platform's own word on when to come back, capped at an hour whatever it
    or a proxy says. `lasting` says that the same attempt will not succeed later either (no
    permission, channel gone).
    """

    #: True if what was asked for may have been done in spite of the failure.
    may_be_done: ClassVar[bool] = False

    def __init__(
        self, why: str, *, retry_after_s: float | None = None, lasting: bool = False
    ) -> None:
        super().__init__(why)
        if retry_after_s is not None:
            retry_after_s = min(retry_after_s, LONGEST_WAIT_MS / 1000)
        self.retry_after_s = retry_after_s
        self.lasting = lasting


def pause_ms(attempts: int, failure: SurfaceFailed) -> int:
    """Return the pause before the next attempt in ms: the platform's word, else doubled to 60 s."""
    if failure.retry_after_s is not None:
        return int(failure.retry_after_s * 1000)
    return int(1000 * min(LONGEST_PAUSE_S, 2.0 ** min(attempts - 1, 10)))


class CardGone(SurfaceFailed):
    """The message in which the card stood was deleted. That changes no review."""


class Surface(Protocol):
    """What delivery and the notifier need of a platform."""

    name: str

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post the card with its seeds; for a `claim` used before, return what was posted then.

        Raises SurfaceFailed.
        """

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render the card anew where it stands; a final card loses its seeds.

        Raises CardGone if the message was deleted, SurfaceFailed.
        """

    async def say(self, message: Message) -> str | None:
        """Say one kept message to its recipient, or to the channel; raises SurfaceFailed.

        Returns the id of the message if people can reply to it with words for us (an answer to a
        question), else None.
        """

    async def read_card(self, card: Card) -> bool:
        """Apply the decisions on a card; True if it was read or none can have been missed."""

    async def catch_up(self) -> int:
        """Read all open cards after a gap; return how many decisions were found."""

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Return for each of `people` with an account here whether they are still a member; None
        means that it cannot be read now."""

    def health(self) -> Sequence[str]:
        """Return lines for `status`: whether the surface is connected, and what is missing."""


@runtime_checkable
class HearsSince(Protocol):
    """A surface that hears people over a connection which can break."""

    def heard_since(self) -> int | None:
        """Return when the present connection began (ms UTC), None if none stands."""
