"""Keeps a client of discord.py connected: any trouble means a fresh client, after a pause.

A wrong token and a missing privileged intent end the start, for only a person can mend them. Twin:
`slack/client.py`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

import aiohttp
import discord
from discord import app_commands

from bot.chat.discord.leaving import closed
from bot.chat.discord.pulse import Pulse
from bot.chat.discord.settings import DiscordSettings
from bot.chat.discord.sparing import WAITED_S, Attempts, Limits
from bot.chat.hearing.hearing import Hearing
from bot.expected import StartFailed
from bot.process.cancelling import ended
from lifecycle.located import located

log = logging.getLogger("signoff.discord")

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
#: The longest pause if clients connect and end again: Discord counts identifications, and at a
#: thousand a day it takes the token away.
_SPARING_PAUSE_S: Final = 180.0
#: After a client that stood for so long, the pauses begin small again.
_WELL_S: Final = 300.0
#: The pause after a token that was good is refused: Discord counts refusals.
_REFUSED_PAUSE_S: Final = 600.0
#: A client may try to reconnect by itself for so long before it is replaced.
_PATIENCE_S: Final = 90.0
_LOOK_S: Final = 5.0

#: After these events the bot may see more or less of its channel than before.
_SEEN_ANEW: Final = frozenset(
    {
        *("ready", "guild_available", "guild_join", "guild_unavailable", "guild_remove"),
        *("guild_channel_create", "guild_channel_update", "guild_channel_delete"),
        *("guild_update", "guild_role_update", "guild_role_delete", "member_update"),
    }
)

#: Events that the listener takes in the moment they are parsed, in order, with their number.
_TAKEN: Final = frozenset(
    {
        "message",
        "raw_message_edit",
        "raw_message_delete",
        "raw_bulk_message_delete",
        "raw_reaction_add",
        "raw_reaction_remove",
        "raw_reaction_clear",
        "raw_reaction_clear_emoji",
        "interaction",
    }
)


#: If discord.py cannot read one of these, it is let go. Of all others discord.py keeps its state,
#: and a fresh client is needed; but not for another server: anybody may have the bot in theirs.
_SPARED: Final = frozenset(
    {
        *("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"),
        *("MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE"),
        *("MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI", "INTERACTION_CREATE"),
    }
)
#: Fields that a server may leave out of an event and that discord.py needs. Without them a ❌ would
#: be heard minutes later, when its card is read.
_LEFT_OUT: Final[Mapping[str, Mapping[str, Any]]] = {
    "MESSAGE_UPDATE": {"type": 0, "content": ""},
    "MESSAGE_REACTION_ADD": {"type": 0},
    "MESSAGE_REACTION_REMOVE": {"type": 0},
}


class Listener(Protocol):
    """What the client tells of what it hears; DiscordSurface implements it."""

    def taken(self, event: str, about: Any, number: str) -> None:
        """Take one event; returns at once and never raises."""

    def missed(self) -> None:
        """An event came that cannot be read: it may have been a ❌."""

    def connected(self) -> None:
        """A new connection stands: events may have been missed before."""

    def ready(self) -> None:
        """What exists on the server is known, or has changed."""

    async def prepared(self, client: SignoffClient) -> None:
        """Prepare what must exist before the client, which is logged in, connects."""


class SignoffClient(discord.Client):
    """A client of discord.py without caches: what it needs to know it asks for when it needs it."""

    def __init__(
        self,
        settings: DiscordSettings,
        hearing: Hearing,
        listener: Listener,
        attempts: Attempts,
    ) -> None:
        super().__init__(
            intents=wanted_intents(),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            heartbeat_timeout=settings.heartbeat_s,
            enable_debug_events=True,
            max_ratelimit_timeout=WAITED_S,
        )
        self.tree = app_commands.CommandTree(self)
        self.pulse = Pulse(self, hearing)
        self.identified = False
        self._hearing = hearing
        self._listener = listener
        self._ours = str(settings.guild)
        self._attempts = attempts
        self._attempts.watch(self.http)
        self._numbers = itertools.count(time.monotonic_ns())
        parsers = self._connection.parsers
        parsers |= {each: partial(self._read, each, parse) for each, parse in parsers.items()}

    async def setup_hook(self) -> None:
        """Let the listener prepare between login and connection."""
        await self._listener.prepared(self)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Count an identification; raises IdentifiedTooOften, which ends the client."""
        self._attempts.identify(anew=self.identified)
        self.identified = True
        await super().before_identify_hook(shard_id, initial=initial)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Take our events in the order in which they are parsed; never raise for one."""
        if event in ("socket_raw_receive", "socket_raw_send"):
            if event == "socket_raw_receive":
                self._hearing.alive()
                self.pulse.received(args[0])
            return
        if event in _TAKEN:
            self._taken(event, args[0])
            return
        match event:
            case "disconnect":
                self._hearing.lost("the connection to Discord was lost")
            case "resumed":
                self._hearing.resumed()
            case "connect":
                self._hearing.began()
                self._listener.connected()
            case _ if event in _SEEN_ANEW:
                self._seen_anew()
            case _:
                pass
        super().dispatch(event, *args, **kwargs)

    def _read(self, event: str, parse: Callable[[Any], None], data: Mapping[str, Any]) -> None:
        """Let discord.py parse an event; a failure that is raised ends the client."""
        try:
            parse({**_LEFT_OUT[event], **data} if event in _LEFT_OUT else data)
        except Exception as error:
            if event in _SPARED:
                self._listener.missed()
            elif _server_of(event, data) in (None, self._ours):
                raise
            log.error("an event could not be read: %s %s", event, located(error))

    def _seen_anew(self) -> None:
        try:
            self._listener.ready()
        except Exception as error:
            log.error("it cannot be told what the bot sees: %s", located(error))

    def _taken(self, event: str, about: Any) -> None:
        try:
            session = getattr(self.ws, "session_id", None) or ""
            number = f"{session}:{getattr(self.ws, 'sequence', None) or next(self._numbers)}"
            self._listener.taken(event, about, number)
        except Exception as error:
            log.error("an event could not be taken: %s %s", event, located(error))


def _server_of(event: str, data: Any) -> str | None:
    """Return which server an event is about, None if it is about none or does not say."""
    named = data if isinstance(data, Mapping) else {}
    server = named.get("guild_id") or (named.get("id") if event.startswith("GUILD_") else None)
    return None if server is None else str(server)


def _unreached(error: Exception) -> str:
    """Return in a person's words why a client ended."""
    match error:
        case discord.HTTPException(response=aiohttp.ClientResponse() as answer):
            return f"Discord answered {answer.status} to {answer.method} {answer.url.path}"
        case ValueError() | TypeError() | LookupError():
            name = type(error).__name__
            return f"what Discord, or a proxy before it, said cannot be read ({name})"
        case _:
            return f"Discord cannot be reached ({type(error).__name__})"


def wanted_intents() -> discord.Intents:
    """Return the intents that the bot needs; message_content is privileged."""
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.guild_reactions = True
    intents.dm_messages = intents.dm_reactions = intents.message_content = True
    return intents


class Supervisor:
    """Keeps one client connected for as long as `run` is awaited."""

    def __init__(self, settings: DiscordSettings, hearing: Hearing, listener: Listener) -> None:
        self._settings = settings
        self._hearing = hearing
        self.limits, attempts = Limits(hearing.now_ms), Attempts()
        self._make = partial(SignoffClient, settings, hearing, listener, attempts)
        self._stood_s = 0.0
        self._identified = False
        #: How long the next pause is at most, in seconds.
        self.pause_s = _FIRST_PAUSE_S
        self.client: SignoffClient | None = None

    async def run(self) -> None:
        """Stay connected until cancelled. Raises StartFailed for what only a person can mend."""
        while True:
            self._stood_s, self._identified = 0.0, False
            try:
                await self._one_life()
            except (discord.LoginFailure, discord.PrivilegedIntentsRequired) as error:
                self.pause_s = self._refused(error)
            except Exception as error:
                self._hearing.lost(_unreached(error))
                log.warning("the Discord client ended: %s: %s", type(error).__name__, error)
            if self._stood_s >= _WELL_S:
                self.pause_s = _FIRST_PAUSE_S
            await asyncio.sleep(self.pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            longest_s = _SPARING_PAUSE_S if self._identified else _LONGEST_PAUSE_S
            self.pause_s = min(longest_s, self.pause_s * 2)

    async def _one_life(self) -> None:
        client = self.client = self._make()
        self.limits.watch(client.http)
        start = asyncio.create_task(client.start(self._settings.token))
        watch = asyncio.create_task(self._watch())
        try:
            # `close` does not wake a client that waits to reconnect, so `start` is cancelled.
            await asyncio.wait({start, watch}, return_when=asyncio.FIRST_COMPLETED)
            if start.done() and not start.cancelled():
                start.result()
        finally:
            self.client = None
            self._identified = client.identified
            await ended(start, watch)
            await asyncio.shield(closed(client))

    async def _watch(self) -> None:
        """Return once the client has not come back by itself for too long."""
        away_s = 0.0
        while away_s < _PATIENCE_S:
            await asyncio.sleep(_LOOK_S)
            connected = self._hearing.connected
            self._stood_s += _LOOK_S if connected else 0.0
            away_s = 0.0 if connected else away_s + _LOOK_S
        self._hearing.lost("Discord did not answer; connecting anew")

    def _refused(self, error: Exception) -> float:
        words = (
            f"Discord refuses the token in {self._settings.token_env}. Copy the bot's token anew "
            "from https://discord.com/developers/applications (Bot, Reset Token)."
            if isinstance(error, discord.LoginFailure)
            else "Discord refuses the message content intent. Switch on Message Content Intent at "
            "https://discord.com/developers/applications (Bot, Privileged Gateway Intents); "
            "without it the bot cannot read what agents propose."
        )
        if not self._hearing.ever:
            raise StartFailed(words) from None
        self._hearing.lost(words)
        log.error("%s", words)
        return _REFUSED_PAUSE_S
