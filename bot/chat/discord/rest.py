"""Asks Discord for all that the surface needs by REST, with the client that is connected now.

Twin: `slack/rest.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import discord
from discord.http import handle_message_parameters
from discord.utils import MISSING

from bot.chat.discord.calls import NO_MEMBER, DoneUnknown, answered, spoken_to
from bot.chat.discord.client import SignoffClient
from bot.chat.discord.settings import NOBODY, DiscordSettings
from bot.chat.discord.standing import Emoji, standing_under
from bot.chat.hearing.signals import Signal
from bot.chat.surface import SurfaceFailed
from bot.chat.turns import Turns

_MEMBER_S: Final = 5.0
#: What Discord did not say is told for so many seconds.
_LATELY_S: Final = 600.0
_MOST_UNSAID: Final = 100
#: So many posts to the channel are under way at once; of those that wait, the fairest is next.
_POSTS_AT_ONCE: Final = 2
_NOT_SHOWN: Final = "without Embed Links Discord would show nothing of a card"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to post or to edit; `calls` is the only role it may ping."""

    text: str | None = None
    embed: discord.Embed | None = None
    view: discord.ui.View | None = None
    file: discord.File | None = None
    calls: int | None = None
    reply_to: int | None = None
    nonce: str | None = None


class Rest:
    """Makes the calls. Each says whom it may ping; each trouble is raised as SurfaceFailed."""

    def __init__(
        self, settings: DiscordSettings, current: Callable[[], SignoffClient | None]
    ) -> None:
        self.settings = settings
        self._current = current
        self._asking: set[asyncio.Task[bool | None]] = set()
        self._turns = Turns(_POSTS_AT_ONCE)
        #: Accounts of which Discord did not say whether they are members: why, and when (s).
        self._unsaid: dict[str, tuple[str, float]] = {}
        #: The edit that is under way, by message.
        self._editing: dict[int, asyncio.Future[None]] = {}

    @property
    def client(self) -> SignoffClient:
        """The client that is logged in. Raises SurfaceFailed if none is."""
        client = self._current()
        if client is None or client.user is None or client.is_closed():
            raise SurfaceFailed("Discord is not connected")
        return client

    def check_connected(self) -> None:
        """Raise SurfaceFailed if no client is logged in."""
        _ = self.client

    @property
    def me(self) -> int | None:
        """The bot's own account, None before the first login."""
        client = self._current()
        return client.user.id if client is not None and client.user is not None else None

    def may(self, permission: str) -> bool:
        """Say whether the bot has a permission (discord.py's name) in its channel, or may have."""
        guild = self.client.get_guild(self.settings.guild)
        channel = guild.get_channel(self.settings.channel) if guild is not None else None
        me: discord.Member | None = guild.me if guild is not None else None
        return channel is None or me is None or getattr(channel.permissions_for(me), permission)

    def may_read_history(self) -> bool:
        """Say whether the bot may read the history of its channel. Without that permission Discord
        shows an empty history, and refuses replies."""
        return self.may("read_message_history")

    async def send(self, message: Outgoing, channel: int | None = None) -> int:
        """Post a message and return its id; the same nonce again posts nothing new."""
        self._check_shown(message)
        given: dict[str, Any] = {}
        if message.embed is not None:
            given["embed"] = message.embed
        if message.view is not None:
            given["view"] = message.view
        if message.file is not None:
            given["file"] = message.file
        if message.nonce is not None:
            given["nonce"] = message.nonce
        where = self.channel(channel)
        if message.reply_to is not None and self.may_read_history():
            given["reference"] = discord.MessageReference(
                message_id=message.reply_to, channel_id=where.id, fail_if_not_exists=False
            )
        pings = _may_ping(message.calls)
        async with self._turns.taken() if where.id == self.settings.channel else nullcontext():
            sent = await answered(
                "posting", where.send(message.text, allowed_mentions=pings, **given)
            )
        if message.embed is not None and not sent.embeds:
            await answered("showing", self._edited(sent.id, message, MISSING))
        return sent.id

    def _check_shown(self, message: Outgoing) -> None:
        """Raise SurfaceFailed if Discord would accept a message and show nothing of it."""
        if message.embed is not None and not self.may("embed_links"):
            raise SurfaceFailed(_NOT_SHOWN, lasting=True)

    async def edit(self, message_id: int, message: Outgoing) -> None:
        """Make all of a message anew except its text. An embed that somebody removed is shown
        again, and nobody is pinged.

        An edit without an answer goes on by itself, and discord.py may let it wait for minutes. No
        newer edit is begun before it has ended, or the older one could overwrite it.
        """
        self._check_shown(message)
        if message_id in self._editing:
            raise DoneUnknown("editing: a former edit of the message is not answered yet")
        attachments = [] if message.file is None else [message.file]
        editing = asyncio.ensure_future(self._edited(message_id, message, attachments))
        self._editing[message_id] = editing
        editing.add_done_callback(lambda ended: self._edit_ended(message_id, ended))
        await answered("editing", editing)

    def _edit_ended(self, message_id: int, ended: asyncio.Future[None]) -> None:
        if self._editing.get(message_id) is ended:
            del self._editing[message_id]

    async def _edited(
        self, message_id: int, message: Outgoing, attachments: Sequence[discord.File]
    ) -> None:
        """Edit a message; raises SurfaceFailed if Discord accepted it and shows nothing of it."""
        # discord.py would edit a message that it has not fetched without setting its flags.
        with handle_message_parameters(
            embed=message.embed,
            view=message.view,
            attachments=attachments,
            allowed_mentions=NOBODY,
            flags=discord.MessageFlags(suppress_embeds=False),
        ) as params:
            channel, http = self.settings.channel, self.client.http
            shown = await http.edit_message(channel, message_id, params=params)
        if message.embed is not None and not shown.get("embeds"):
            raise SurfaceFailed(_NOT_SHOWN, lasting=True)

    async def react(self, message_id: int, signal: Signal) -> None:
        """Put the bot's own signal under a message."""
        await answered("adding a reaction", self._part(message_id).add_reaction(signal.character))

    async def unreact(self, message_id: int, signal: Signal, user: int | None = None) -> None:
        """Take a signal off a message: the bot's own, or that of `user`."""
        who = discord.Object(user or self.me or 0)
        taking = self._part(message_id).remove_reaction(signal.character, who)
        await answered("taking a reaction off", taking)

    async def standing(self, message_id: int, channel: int | None = None) -> Emoji:
        """Read who stands under the signals of a message, in both lists of each emoji."""
        return await standing_under(self, message_id, channel or self.settings.channel)

    def channel(self, channel: int | None = None) -> discord.PartialMessageable:
        """Return a channel, the configured one for None. Raises SurfaceFailed."""
        return self.client.get_partial_messageable(
            channel or self.settings.channel, guild_id=self.settings.guild
        )

    async def member(self, account: str) -> bool | None:
        """Say whether an account is a member of the server now; None if that cannot be told.

        A question that takes too long is not cancelled: while discord.py waits for a global limit
        to pass, a cancellation would keep every later call waiting for ever.
        """
        asking = asyncio.create_task(self._asked_member(account))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        await asyncio.wait({asking}, timeout=_MEMBER_S)
        if asking.done() and not asking.cancelled():
            return asking.result()
        self._note_unsaid(account, f"no answer within {_MEMBER_S:.0f} s")
        return None

    def unsaid(self) -> str | None:
        """Return why Discord does not say of somebody whether they are a member; None if it does,
        or was not asked lately: about who stands under an open card it is, every three minutes."""
        since_s = asyncio.get_running_loop().time() - _LATELY_S
        return next((why for why, asked_s in self._unsaid.values() if asked_s > since_s), None)

    def connected(self) -> None:
        """Forget what Discord did not say before."""
        self._unsaid.clear()

    def _note_unsaid(self, account: str, why: str | None) -> None:
        self._unsaid.pop(account, None)
        if why is not None:
            self._unsaid[account] = why, asyncio.get_running_loop().time()
        if len(self._unsaid) > _MOST_UNSAID:
            del self._unsaid[next(iter(self._unsaid))]

    async def _asked_member(self, account: str) -> bool | None:
        if not account.isdecimal():
            return False
        try:
            async with spoken_to("asking for a member"):
                found = await self.client.http.get_member(self.settings.guild, int(account))
                theirs = str(found["user"]["id"]) == account
        except SurfaceFailed as failure:
            gone = failure.__cause__
            known = isinstance(gone, discord.NotFound) and gone.code in NO_MEMBER
            self._note_unsaid(account, None if known else str(failure))
            return False if known else None
        self._note_unsaid(account, None if theirs else "somebody else was named")
        return theirs or None

    async def parent(self, channel: int) -> int | None:
        """Return the channel that a thread belongs to, None if it is no thread."""
        found = await answered("looking at a channel", self.client.fetch_channel(channel))
        return found.parent_id if isinstance(found, discord.Thread) else None

    async def pin(self, message_id: int) -> None:
        """Pin a message."""
        await answered("pinning", self._part(message_id).pin())

    async def download(self, url: str) -> bytes:
        """Fetch a file that was attached to a message. Raises SurfaceFailed.

        It is `lasting` for 403 and 404 in any case: the file server sends none of Discord's codes.
        """
        try:
            return await answered("fetching a file", self.client.http.get_from_cdn(url))
        except SurfaceFailed as failure:
            if isinstance(failure.__cause__, discord.NotFound | discord.Forbidden):
                raise SurfaceFailed(str(failure), lasting=True) from None
            raise

    def _part(self, message_id: int) -> discord.PartialMessage:
        return self.channel().get_partial_message(message_id)


def _may_ping(role: int | None) -> discord.AllowedMentions:
    if role is None:
        return NOBODY
    return discord.AllowedMentions(
        everyone=False, users=False, roles=[discord.Object(role)], replied_user=False
    )
