"""Watches whether the bot is in its channel, and whether people of another organisation are.

A connection stands even if the bot was removed from the channel, and a channel may be shared with
another organisation at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.hearing.hearing import Hearing
from bot.chat.slack.calls import SlackWeb
from bot.chat.slack.checks import Seen, channel_seen
from bot.chat.surface import SurfaceFailed
from lifecycle.located import located

log = logging.getLogger("signoff.slack")

#: Slack does not always say that the bot was removed, so the channel is looked at after so long.
_LOOK_S: Final = 30
#: Events after which the channel is looked at immediately; those of the app come as a type, some of
#: the others as the subtype of a message.
_OF_APP: Final = frozenset({"app_uninstalled", "tokens_revoked"})
_OF_CHANNEL: Final = frozenset(
    f"{kind}_{what}"
    for kind in ("channel", "group")
    for what in ("left", "leave", "archive", "unarchive", "deleted")
)
_OF_MEMBER: Final = frozenset({"member_left_channel", "member_joined_channel"})


class Presence:
    """Looks at the channel now and then. `blind` says why nothing of it can be heard; `shared` is a
    warning if people of another organisation are in it."""

    def __init__(self, web: SlackWeb, channel: str, hearing: Hearing) -> None:
        self._web = web
        self._channel = channel
        self._hearing = hearing
        self._asked = asyncio.Event()
        self.blind: str | None = None
        self.shared: str | None = None

    def heard(self, event: Mapping[str, Any], me: str) -> None:
        """Have the channel looked at soon if an event says that it, or our place in it, changed."""
        kinds = {event.get("type"), event.get("subtype")}
        ours = event.get("channel") == self._channel
        member = bool(kinds & _OF_MEMBER) and event.get("user") == me
        if kinds & _OF_APP or (ours and (member or kinds & _OF_CHANNEL)):
            self._asked.set()

    async def run(self) -> None:
        """Look every 30 s, and after such events, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._asked.wait()
            self._asked.clear()
            await self.look()

    async def look(self) -> None:
        """Look at the channel; if Slack does not say how it stands, what was known stays."""
        try:
            seen = await channel_seen(self._web, self._channel)
        except SurfaceFailed as failure:
            log.info("the channel cannot be looked at: %s", failure)
            return
        except Exception as error:
            log.error("the channel cannot be looked at: %s", located(error))
            return
        self.note(seen)

    def note(self, seen: Seen) -> None:
        """Note what a look said: nothing is heard, or it is again and missed cards are read."""
        blind = seen.blind
        for words, before in ((blind, self.blind), (seen.shared, self.shared)):
            if words not in (None, before):
                log.warning("slack: %s", words)
        if blind is not None:
            self._hearing.blinded(blind)
        elif self._hearing.sees():
            log.warning("slack: the channel %s is heard again", self._channel)
        self.blind, self.shared = blind, seen.shared
