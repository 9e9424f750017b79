"""Reads who stands under a message, as Discord lists it: by emoji, by kind of reaction, by page.

Twin: `slack/emoji.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import discord

from bot.chat.discord.calls import UNKNOWN_EMOJI, answered
from bot.chat.hearing.left_behind import check_readable, left_in
from bot.chat.hearing.signals import Signal, of_character
from bot.chat.surface import SurfaceFailed
from lifecycle.records import Card

if TYPE_CHECKING:
    from bot.chat.discord.rest import Rest

_PAGE: Final = 100
_TYPES: Final = (discord.ReactionType.normal, discord.ReactionType.burst)


@dataclass(frozen=True, slots=True)
class Emoji:
    """Who stands under the signals of a message, in which of Discord's two kinds of reaction.

    The bot is left out. `own` are the signals that the bot itself has put there. `on_nothing` says
    that the message shows no embed: somebody removed it, or Discord never showed it.
    """

    lists: Mapping[Signal, Mapping[str, frozenset[str]]]
    own: frozenset[Signal]
    on_nothing: bool = False

    def accounts(self, signal: Signal) -> frozenset[str]:
        """Return the accounts under a signal, in either list."""
        return frozenset().union(*self.lists[signal].values())


async def standing_on(rest: Rest, card: Card) -> Emoji:
    """Read who stands on a card, in whichever channel it was posted. Raises SurfaceFailed, CardGone
    also for a card in another channel than the configured one that can never be read there."""
    message_id, place = int(card.message_ids[-1]), left_in(card, str(rest.settings.channel))
    try:
        standing = await rest.standing(message_id, int(place) if place is not None else None)
    except SurfaceFailed as failure:
        check_readable(card, place, failure)
        raise
    return standing if place is None else replace(standing, on_nothing=False)


async def standing_under(rest: Rest, message_id: int, channel: int) -> Emoji:
    """Read who stands under the signals of a message of the channel. Raises SurfaceFailed."""
    where = rest.channel(channel).get_partial_message(message_id)
    message = await answered("reading a card", where.fetch())
    lists: dict[Signal, dict[str, frozenset[str]]] = {signal: {} for signal in Signal}
    own: set[Signal] = set()
    for reaction in message.reactions:
        signal = of_character(str(reaction.emoji), _custom(reaction.emoji))
        if signal is None:
            continue
        own |= {signal} if reaction.me else set()
        for kind in _TYPES:
            # One signal may come as two emoji: with a variation selector and without.
            known = lists[signal].get(kind.name, frozenset())
            found = await _under(rest, where, str(reaction.emoji), kind)
            if kind is discord.ReactionType.burst and str(rest.me) in found:
                found = set()  # no bot gives super reactions: the server gave the other list again
            lists[signal][kind.name] = known | (found - {str(rest.me)})
    nothing = message.flags.suppress_embeds or not message.embeds
    return Emoji(lists, frozenset(own), nothing)


async def _under(
    rest: Rest, where: discord.PartialMessage, emoji: str, kind: discord.ReactionType
) -> set[str]:
    """Return the accounts under one emoji in one of its lists, the bot among them."""
    found: set[str] = set()
    after: int | None = None
    while True:
        asking = rest.client.http.get_reaction_users(
            where.channel.id, where.id, emoji, _PAGE, after, kind.value
        )
        try:
            page = await answered("reading a card", asking)
        except SurfaceFailed as failure:
            if getattr(failure.__cause__, "code", None) == UNKNOWN_EMOJI:
                return found  # the emoji went since the message was read
            raise
        if not isinstance(page, list):
            raise SurfaceFailed("reading a card: Discord does not say who stands under it")
        found |= {str(user["id"]) for user in page}
        if len(page) < _PAGE:
            return found
        after = int(page[-1]["id"])


def _custom(emoji: Any) -> int | None:
    """Return the id of a server's own emoji, None for any other."""
    return None if isinstance(emoji, str) else emoji.id
