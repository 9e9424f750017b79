"""Posts cards on Slack once, and edits them in place, or tells it beside if that is forbidden.

Twin: `discord/posting.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from bot.chat.cards.content import CardContent
from bot.chat.hearing.left_behind import check_read
from bot.chat.slack.calls import SlackRefused
from bot.chat.slack.desk import Desk
from bot.chat.slack.render import Rendered, called, calls_in, rendered, short_card
from bot.chat.slack.rest import EditRefused
from bot.chat.slack.text import escape
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.records import Card

log = logging.getLogger("signoff.slack")

_LARGE: Final = 4_000
#: Codes for a message whose form Slack does not accept; it may accept a shorter one.
_TOO_MUCH: Final = frozenset(
    {"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "invalid_blocks_format"}
)
_LEFT: Final = (
    "This card is out of date, and this workspace lets nobody edit it: a new one stands in the "
    "channel. ✅ and ❌ count there alone."
)

T = TypeVar("T")


class Cards:
    """Posts and edits the cards of one desk. `read` applies what stands on a card; it returns False
    if that cannot be read now."""

    def __init__(self, desk: Desk, read: Callable[[Card], Awaitable[bool]]) -> None:
        self._desk = desk
        self._read = read

    async def post(
        self, content: CardContent, claim: str, found_again: Callable[[str], None]
    ) -> Posted:
        """Post a card and have its seeds put under it; the same claim posts nothing new.

        `found_again` is called with the ts of a card that was posted before.
        """
        key = f"card:{claim}"
        before = await self._desk.rest.posted_before(key)
        if before is None:
            ts, shown = await self._posted(key, content)
        else:
            ts, shown = await self._found(key, before, content)
            found_again(ts)
        full = await self._desk.files.attach(content.proposal_id, ts, shown.attachment)
        if content.seeded:
            self._desk.seeds.want(ts, seeded=True)
        return Posted(ts, full, self._desk.rest.id)

    async def _found(self, key: str, ts: str, content: CardContent) -> tuple[str, Rendered]:
        """Bring a card up to date that was posted before without its row being written."""
        if await self._desk.rest.calls(ts):  # noted before the edit, which removes the call
            await self._desk.calling.called(content.proposal_id)
        try:
            _, shown = await self._edited(ts, await _rendered(content), content)
        except EditRefused:
            await self._left(ts)
            return await self._posted(f"{key}:{content.version}", content)
        return ts, shown

    async def _posted(self, key: str, content: CardContent) -> tuple[str, Rendered]:
        call = await self._desk.calling.whom(content)
        shown = await _rendered(content, call)
        ts, shown = await _refused_shorter(
            lambda each: self._desk.rest.post(key, each.text, each.blocks), shown, content
        )
        if calls_in(shown.blocks):
            await self._desk.calling.called(content.proposal_id)
        return ts, shown

    async def edit(self, content: CardContent, card: Card) -> Posted:
        """Render a card anew where it stands; a final card loses its seeds and buttons."""
        check_read(card, self._desk.rest.id, content)
        ts = card.message_ids[-1]
        shown = await _rendered(content)
        try:
            _, shown = await self._edited(ts, shown, content)
        except EditRefused as refused:
            await self._told_beside(content, card, shown, refused)
        full = await self._desk.files.attach(
            content.proposal_id, ts, shown.attachment, whole=card.full
        )
        self._desk.seeds.kept(ts, content.seeded)
        await self._called_late(content, ts)
        return Posted(ts, full, self._desk.rest.id)

    async def _edited(
        self, ts: str, shown: Rendered, content: CardContent
    ) -> tuple[None, Rendered]:
        return await _refused_shorter(
            lambda each: self._desk.rest.edit(ts, each.text, each.blocks), shown, content
        )

    async def _called_late(self, content: CardContent, ts: str) -> None:
        """Call people under a card that did not need them at its post; edits call nobody."""
        call = await self._desk.calling.whom(content)
        if call is not None:
            await self._desk.rest.post(f"call:{content.proposal_id}", called(call), thread_ts=ts)
            await self._desk.calling.called(content.proposal_id)

    async def _told_beside(
        self, content: CardContent, card: Card, shown: Rendered, why: EditRefused
    ) -> None:
        """Tell the truth under a card that the workspace lets nobody edit.

        An open card, on which people decide, is posted anew (by raising CardGone), and this one
        says that it no longer counts. Before that it is read, once: a ❌ on it that nobody heard
        is looked for on the new one alone from then on. Raises SurfaceFailed.
        """
        ts = card.message_ids[-1]
        if content.final:
            key = f"end:{content.proposal_id}:{content.version}"
            await self._desk.rest.post(key, shown.text, thread_ts=ts)
            return
        if card.delivered and not await self._read(card):
            raise SurfaceFailed("a card that may not be edited is read before it is posted anew")
        await self._left(ts)
        raise CardGone(str(why))

    async def _left(self, ts: str) -> None:
        with contextlib.suppress(SlackRefused):
            await self._desk.rest.post(f"left:{ts}", escape(_LEFT), thread_ts=ts)
        self._desk.seeds.want(ts, seeded=False)


async def _rendered(content: CardContent, call: str | None = None) -> Rendered:
    """Render a card; a large one in a thread, so that nothing else waits for it."""
    size = sum(len(each.text) for each in (*content.facts, *content.written))
    if size < _LARGE:
        return rendered(content, call)
    return await asyncio.to_thread(rendered, content, call)


async def _refused_shorter(
    write: Callable[[Rendered], Awaitable[T]], shown: Rendered, content: CardContent
) -> tuple[T, Rendered]:
    """Write a card, in its shortest form if Slack refuses the form of the whole one."""
    try:
        return await write(shown), shown
    except SlackRefused as refused:
        if refused.error not in _TOO_MUCH:
            raise
        log.warning("slack refuses the card of %s: %s", content.proposal_id, refused.error)
        short = short_card(content)
        return await write(short), short
