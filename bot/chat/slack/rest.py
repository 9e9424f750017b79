"""Writes to the channel: posts that are never doubled, edits, threads, notes to one person.

Twin: `discord/rest.py`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bot.chat.cards.fitting import Attachment
from bot.chat.cards.marks import shown_in
from bot.chat.hearing.signals import SEEDS
from bot.chat.slack.calls import AnswerLost, SlackRefused, SlackWeb
from bot.chat.slack.emoji import ms_of
from bot.chat.slack.history import StandingPosts
from bot.chat.slack.render import Block, calls_in, card_in
from bot.chat.slack.shapes import whole
from bot.chat.slack.text import escape
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.ports import Clock

_EVENT: Final = "signoff"
_PAGE: Final = 200
_GONE: Final = frozenset({"message_not_found", "thread_not_found"})
_VERSION: Final = re.compile(r"-v\d+(?=\.txt$)")
#: Tells Slack to find no names in what is written; in an edit it would by default.
_LITERAL: Final[Mapping[str, Any]] = {"parse": "none", "link_names": False}
_CLOSED: Final = frozenset({"edit_window_closed", "cant_update_message"})


class EditRefused(SurfaceFailed):
    """The workspace forbids the edit; the message stands as it was."""


class Rest:
    """The configured channel. A key names what must be posted only once."""

    def __init__(self, web: SlackWeb, channel: str, clock: Clock) -> None:
        self.id = channel
        self._web = web
        self._clock = clock
        self._standing = StandingPosts(web, channel, clock)

    @property
    def me(self) -> str:
        """The bot's own account, known once Slack was asked."""
        return self._standing.me

    @me.setter
    def me(self, user: str) -> None:
        self._standing.me = user

    def doubt(self, keys: Iterable[str], since_ms: int = 0) -> None:
        """Note that a former process may have posted these since then: look for them first."""
        self._standing.doubt(keys, since_ms)

    def age_ms(self, ts: str) -> int:
        """Return how long a message has stood, in ms by Slack's own clock."""
        return self._web.clocks.slacks(self._clock.now_ms()) - int(float(ts) * 1000)

    async def post(
        self, key: str, text: str, blocks: list[Block] | None = None, thread_ts: str | None = None
    ) -> str:
        """Post once under `key` and return the message's ts; raises SurfaceFailed.

        Slack has no idempotency key. If an answer was lost, the next attempt looks for the key in
        the metadata of the messages that stand there.
        """
        before = await self.posted_before(key, thread_ts)
        if before is not None:
            return before
        metadata = {"event_type": _EVENT, "event_payload": {"key": key}}
        arguments: dict[str, Any] = {
            "channel": self.id,
            "text": text,
            "metadata": metadata,
            "unfurl_links": False,
            "unfurl_media": False,
            **_LITERAL,
        }
        optional = {"blocks": blocks, "thread_ts": thread_ts}
        arguments |= {name: value for name, value in optional.items() if value}
        self._standing.posting(key)
        try:
            answer = await self._web.call("chat.postMessage", **arguments)
        except SlackRefused:
            self._standing.not_posted(key)
            raise
        ts = answer.get("ts")
        if ms_of(ts) is None:  # it stands somewhere: the next attempt looks for it
            raise AnswerLost("Slack does not say where it posted a message")
        return str(ts)

    async def posted_before(self, key: str, thread_ts: str | None = None) -> str | None:
        """Return the ts of a post that is in doubt and does stand; None if it is to be posted."""
        return await self._standing.of(key, thread_ts)

    async def edit(self, ts: str, text: str, blocks: list[Block] | None = None) -> None:
        """Render a message anew; raises CardGone, EditRefused, SurfaceFailed."""
        arguments: dict[str, Any] = {"channel": self.id, "ts": ts, "text": text, **_LITERAL}
        try:
            await self._web.call("chat.update", **arguments, blocks=blocks or [])
        except SlackRefused as refused:
            if refused.error in _GONE:
                raise CardGone(str(refused)) from None
            if refused.error in _CLOSED:
                raise EditRefused(str(refused)) from None
            raise

    async def seed(self, ts: str) -> bool:
        """Put ✅ and ❌ under a message; return False if one is missing."""
        complete = True
        for signal in SEEDS:
            there = await self._react("reactions.add", ts, signal.slack_name, "already_reacted")
            complete &= there is True
        return complete

    async def unseed(self, ts: str) -> bool:
        """Take the bot's own emoji off a message; return False if one may go in a moment."""
        for signal in SEEDS:
            gone = await self._react("reactions.remove", ts, signal.slack_name, "no_reaction")
            if gone is None:
                return False
        return True

    async def pin(self, ts: str) -> None:
        """Pin a message. A failure is ignored: the pin is only a convenience."""
        with contextlib.suppress(SurfaceFailed):
            await self._web.call("pins.add", channel=self.id, timestamp=ts)

    async def unpin(self, ts: str) -> None:
        """Take a pin off; a failure is ignored."""
        with contextlib.suppress(SurfaceFailed):
            await self._web.call("pins.remove", channel=self.id, timestamp=ts)

    async def attached(self, thread_ts: str, attachment: Attachment) -> None:
        """Put a file into the thread of a message, once. Raises CardGone, SurfaceFailed.

        A file of an earlier version serves as well, for what was proposed never changes. A file of
        that name by somebody other than the bot does not.
        """
        if not await self._has_file(thread_ts, attachment.name):
            await self._web.upload(attachment.name, attachment.text, self.id, thread_ts)

    async def hint(
        self, user: str, words: str, thread_ts: str | None = None, *, at: str | None = None
    ) -> None:
        """Say something to one person alone; a failure is ignored.

        `at` is a channel whose name stands behind the words.
        """
        await self.tell(user, escape(words) + (f" <#{at}>" if at else ""), thread_ts)

    async def tell(self, user: str, text: str, thread_ts: str | None = None) -> None:
        """Show text that is already escaped to one person alone; a failure is ignored."""
        arguments: dict[str, Any] = {"channel": self.id, "user": user, "text": text, **_LITERAL}
        if thread_ts:
            arguments["thread_ts"] = thread_ts
        with contextlib.suppress(SurfaceFailed):
            await self._web.call("chat.postEphemeral", **arguments)

    async def link(self, ts: str) -> str | None:
        """Return the address of a message, None if Slack does not tell it."""
        try:
            found = await self._web.call("chat.getPermalink", channel=self.id, message_ts=ts)
        except SurfaceFailed:
            return None
        return str(found.get("permalink") or "") or None

    async def card_in(self, ts: str) -> str | None:
        """Return which proposal's card a message of ours looks like, or shows in words; None if it
        is none or unread."""
        try:
            message = await self._found(ts)
        except SurfaceFailed:
            return None
        return card_in(message.get("blocks") or ()) or shown_in(str(message.get("text", "")))

    async def _found(self, ts: str) -> Mapping[str, Any]:
        """Return a message of the channel or of one of its threads, whose messages are in no
        history; raises CardGone, SurfaceFailed."""
        arguments: dict[str, Any] = {"latest": ts, "inclusive": True, "limit": 1}
        answer = await self._web.call("conversations.history", channel=self.id, **arguments)
        found = (whole(m) for m in answer.get("messages") or () if m.get("ts") == ts)
        return next(found, None) or await self.read(ts)

    async def calls(self, ts: str) -> bool:
        """Say whether a message of ours called people; raises CardGone, SurfaceFailed."""
        return calls_in((await self.read(ts)).get("blocks") or ())

    async def read(self, ts: str, channel: str | None = None) -> dict[str, Any]:
        """Return a message with all its reactions, of the configured channel for None; raises
        CardGone, SurfaceFailed."""
        where = {"channel": channel or self.id, "timestamp": ts}
        try:
            answer = await self._web.call("reactions.get", **where, full=True)
        except SlackRefused as refused:
            if refused.error in _GONE:
                raise CardGone(str(refused)) from None
            raise
        message = answer.get("message")
        if not isinstance(message, Mapping) or message.get("ts") != ts:
            raise SurfaceFailed("Slack does not say what stands under the message")
        if message.get("subtype") == "tombstone":  # deleted, with its thread left standing
            raise CardGone("the message is gone")
        return dict(message)

    async def files_of(self, ts: str, thread_ts: str | None) -> list[dict[str, Any]]:
        """Return the files of one message, for the event of a mention may come without them."""
        replies = await self._web.call(
            "conversations.replies", channel=self.id, ts=thread_ts or ts, limit=_PAGE
        )
        found = [whole(m) for m in replies.get("messages") or () if m.get("ts") == ts]
        return [file for message in found for file in message.get("files") or ()]

    async def _react(self, method: str, ts: str, name: str, harmless: str) -> bool | None:
        """Return whether an emoji is as it should be; None if Slack failed, and may not again."""
        try:
            await self._web.call(method, channel=self.id, timestamp=ts, name=name)
        except SlackRefused as refused:
            # On a message that is gone nothing is missing.
            return refused.error == harmless or refused.error in _GONE
        except SurfaceFailed:
            return None
        return True

    async def _has_file(self, thread_ts: str, name: str) -> bool:
        try:
            replies = await self._web.call(
                "conversations.replies", channel=self.id, ts=thread_ts, limit=_PAGE
            )
        except SlackRefused as refused:
            if refused.error in _GONE:
                raise CardGone(str(refused)) from None
            raise
        ours = [whole(m) for m in replies.get("messages") or () if m.get("user") == self.me]
        names = [str(file.get("name")) for m in ours for file in m.get("files") or ()]
        return any(_VERSION.sub("", each) == _VERSION.sub("", name) for each in names)
