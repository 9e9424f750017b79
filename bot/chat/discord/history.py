"""Looks in the channel for messages of ours: a card whose place no row names, a call, the board.

Twin: `slack/history.py`, which finds posts by a key in their metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import discord

from bot.chat.cards.marks import shown_in
from bot.chat.discord.calls import answered
from bot.chat.discord.rest import Rest
from bot.chat.surface import CardGone, SurfaceFailed

_PAGE: Final = 100
#: So many pages of 100 messages are looked through for a card that may stand.
_PAGES: Final = 5
#: What follows the id in the footer of a card.
_CARD_MARK: Final = " · sha256:"
#: What follows the digest in the footer.
_VERSION_MARK: Final = " · version "
_ROLE: Final = re.compile(r"<@&(\d+)>")


@dataclass(frozen=True, slots=True)
class Found:
    """A message of ours in which a card stands, and which roles it called."""

    message_id: int
    called: frozenset[int]


class History:
    """Recognises messages of ours by how they look. Its methods raise SurfaceFailed."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def card_of(
        self, footer: str, but: Iterable[str], since_ms: int | None = None
    ) -> Found | None:
        """Return a message of ours with the card that has this footer, None if there is none.

        It may show an earlier version, for no row was written since. The whole footer is compared:
        the id alone comes again beside another database, and what people gave on a card of another
        document does not count here. `but` are messages that are known already. If the newest page
        has no card, the messages from `since_ms` on are read: a card comes soon after its proposal.
        """
        known = {int(each) for each in but if each.isdecimal()}

        def one_of(messages: Sequence[discord.Message]) -> Found | None:
            unknown = (m for m in messages if m.id not in known and m.author.id == self._rest.me)
            ours = (m for m in unknown if _may_become(_footer_of(m), footer))
            return next((Found(m.id, _called(m)) for m in ours), None)

        newest = await answered("looking for a card", self._messages(_PAGE))
        found = one_of(newest)
        after = None if since_ms is None else _snowflake(since_ms)
        if found is not None or after is None or len(newest) < _PAGE or newest[-1].id <= after:
            return found
        return one_of(await answered("looking for a card", self._after(after)))

    async def called_under(self, message_id: int, role: int) -> bool:
        """Say whether a message of ours that replies to this one calls the role."""
        messages = await answered("looking for a call", self._after(message_id))
        return any(
            m.author.id == self._rest.me
            and role in _called(m)
            and m.reference is not None
            and m.reference.message_id == message_id
            for m in messages
        )

    async def with_footer(self, footer: str) -> str | None:
        """Return the newest message of ours whose embed has this footer, None if there is none."""
        newest = await answered("looking for the board", self._messages(_PAGE))
        ours = (m for m in newest if m.author.id == self._rest.me and _footer_of(m) == footer)
        return next((str(m.id) for m in ours), None)

    async def card_in(self, message_id: int) -> str | None:
        """Return which proposal's card a message looks like, shows in words, or forwards; None if
        it is none."""
        part = self._rest.channel().get_partial_message(message_id)
        try:
            message = await answered("looking at a message", part.fetch())
        except CardGone:
            return None
        return self._card_in(message) or _forwarded_in(message)

    # -- inside ---------------------------------------------------------------------------

    async def _after(self, message_id: int) -> list[discord.Message]:
        where = {"after": discord.Object(message_id), "oldest_first": True}
        return await self._messages(_PAGES * _PAGE, **where)

    async def _messages(self, limit: int, **where: Any) -> list[discord.Message]:
        if not self._rest.may_read_history():  # Discord would show an empty history
            raise SurfaceFailed("the bot may not read the channel's history", lasting=True)
        return [each async for each in self._rest.channel().history(limit=limit, **where)]

    def _card_in(self, message: discord.Message) -> str | None:
        if message.author.id != self._rest.me:
            return None
        return _named_in(message) or shown_in(message.content)


def _forwarded_in(message: discord.Message) -> str | None:
    found = map(_named_in, message.message_snapshots)
    return next(filter(None, found), None)


def _named_in(message: discord.Message | discord.MessageSnapshot) -> str | None:
    proposal_id, mark, _ = _footer_of(message).partition(_CARD_MARK)
    return proposal_id if mark else None


def _may_become(stands: str, footer: str) -> bool:
    """Say whether a card may be edited into this one: same document, no later version."""
    (of_what, _, before), (this, _, now) = map(_parts, (stands, footer))
    return of_what == this and before.isdecimal() and int(before) <= int(now)


def _parts(footer: str) -> tuple[str, str, str]:
    return footer.rpartition(_VERSION_MARK)


def _footer_of(message: discord.Message | discord.MessageSnapshot) -> str:
    return (message.embeds[0].footer.text or "") if message.embeds else ""


def _called(message: discord.Message) -> frozenset[int]:
    return frozenset(map(int, _ROLE.findall(message.content)))


def _snowflake(at_ms: int) -> int:
    """Return the least id that a message posted at that moment can have."""
    return max(0, at_ms - discord.utils.DISCORD_EPOCH) << 22
