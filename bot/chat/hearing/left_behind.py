"""Knows in which channel a card stands: the config may name another one at the next start.

What was given on the card while the bot was away was given on the current card in the channel that
was configured then. So it is read there once more, for what stops and what takes back, before the
card is posted in the channel that is configured now. It keeps in a card's `extra`, under `place`,
the platform's id of the channel; `showing/placed.py` writes it, and it stays with the row.

What was heard, and not processed before the process ended, keeps under `listened` which channel was
configured when it was heard: a stop counts there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bot.chat.cards.content import CardContent
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.records import Card

if TYPE_CHECKING:
    from bot.chat.hearing.catching_up import CatchingUp
    from bot.chat.hearing.found import Found

log = logging.getLogger("signoff.surfaces")

#: The key of a kept event for the channel that was configured when it was heard.
LISTENED: Final = "listened"
_PLACE: Final = "place"
#: An id of Discord: a number of 64 bits.
_NUMBER: Final = re.compile(r"[0-9]{1,20}")
#: A card that has to be read first is shown again after this pause in seconds.
_SOON_S: Final = 1.0


def placed_in(card: Card, posted: Posted | None) -> Card:
    """Return the card with the channel in which it was posted or edited, if that is told."""
    if posted is None or not posted.place:
        return card
    return replace(card, extra={**card.extra, _PLACE: posted.place})


def homes(channel: str, kept: Mapping[str, Any], *, stops: bool) -> frozenset[str]:
    """Return the channels in which a kept event counts: the one that is configured (`channel`), and
    for a stop also the one that was when it was heard. Nobody repeats what was taken."""
    listened = kept.get(LISTENED, channel) if stops else channel
    return frozenset({channel, str(listened)})


def left_in(card: Card, channel: str) -> str | None:
    """Return the channel in which a card stands if that is known and is not this one, else None.

    What somebody wrote there that is no id as this channel has one counts as not known.
    """
    place = card.extra.get(_PLACE)
    if not isinstance(place, str) or _is_number(place) != _is_number(channel):
        return None
    return place if place != channel else None


def _is_number(channel: str) -> bool:
    return _NUMBER.fullmatch(channel) is not None


def check_read(card: Card, channel: str, content: CardContent) -> None:
    """Raise CardGone if a card stands in another channel, so that it is posted in this one.

    Raises SurfaceFailed as long as what was given on it is not read: in the new message nobody
    would look for it.
    """
    place = left_in(card, channel)
    if place is None:
        return
    if not content.final and (card.delivered or card.shown_version):
        raise SurfaceFailed(f"the card in channel {place} is read first", retry_after_s=_SOON_S)
    raise CardGone(f"the card was left in channel {place}")


def check_readable(card: Card, place: str | None, failure: SurfaceFailed) -> None:
    """Raise CardGone if the failed reading of a card in another channel (`place`) says that the bot
    may never read it there."""
    if place is not None and failure.lasting:
        words = "what was given on the card of %s in channel %s is not heard: %s"
        log.warning(words, card.proposal_id, place, failure)
        raise CardGone(str(failure)) from failure


async def apply_left(catching_up: CatchingUp, card: Card, found: Found) -> int:
    """Apply what was found on a card in another channel: what stops and what takes back. Return how
    many stops were new; no ✅ counts there."""
    return await catching_up.stop_first(card, found) or await catching_up.too_late(card, found)
