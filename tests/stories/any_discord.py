"""Discord over a room in memory: all that hears is the real thing, but for the calls to Discord."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import discord

from bot.chat.cards.content import CardContent
from bot.chat.discord.listening import Listening
from bot.chat.discord.notifier import DiscordSurface
from bot.chat.discord.settings import DiscordSettings
from bot.chat.discord.standing import Emoji
from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.signals import SEEDS, Signal
from bot.chat.surface import Posted
from tests.stories.any_rooms import Room

GUILD, CHANNEL, ME = 77, 88, 999


class _Rest:
    def __init__(self, room: Room, settings: DiscordSettings) -> None:
        self.room, self.settings, self.me = room, settings, ME

    def check_connected(self) -> None:
        return

    def connected(self) -> None:
        return

    def unsaid(self) -> str | None:
        return None

    def may(self, permission: str) -> bool:
        return True

    async def standing(self, message_id: int, channel: int | None = None) -> Emoji:
        found = await self.room.under(str(message_id))
        lists = {
            signal: {"normal": frozenset(map(self.room.account, found[signal.name]))}
            for signal in SEEDS
        }
        return Emoji(lists, frozenset(SEEDS))

    async def unreact(self, message_id: int, signal: Signal, user: int | None = None) -> None:
        await self.room.asked()
        who = self.room.person(str(user))
        self.room.emoji.get(str(message_id), set()).discard((who, signal.name))

    async def send(self, message: Any, channel: int | None = None) -> int:
        await self.room.asked()
        return 5_000_000 + self.room.number()

    async def member(self, account: str) -> bool | None:
        return self.room.member(self.room.person(account))


class DiscordIn(DiscordSurface):
    """The surface in a room."""

    def __init__(self, room: Room, clock: Any) -> None:
        settings = DiscordSettings(
            "t", "T", GUILD, CHANNEL, "http://127.0.0.1/api", "ws://127.0.0.1"
        )
        super().__init__(settings, clock)
        self.room, self.clock = room, clock
        self.rest: Any = _Rest(room, settings)
        self.history: Any = SimpleNamespace(card_in=_nothing)

    async def begins(self, commands: Any, delivery: Any) -> None:
        self.workflow = commands.workflow
        self.listening = Listening(self, commands, delivery)
        await self.listening.inbox.resume()

    def connects(self) -> None:
        self.hearing.began()
        self.connected()

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        made, late = await self.room.post(
            content.proposal_id, claim, self.clock.now_ms(), content.version
        )
        posted = Posted(made)
        self._stands(posted, content, late=late)
        return posted

    async def edit_card(self, content: CardContent, card: Any) -> Posted:
        await self.room.edit(card.message_ids[-1], content.version)
        return Posted(card.message_ids[-1])

    async def say(self, message: Any) -> str | None:
        await self.room.asked()
        self.room.permits += [message.body["permit"]] if message.kind == "permit" else []
        return None

    async def sign_of_life(self) -> None:
        if self.room.line == "up":
            self.hearing.alive()

    # -- what people do ---------------------------------------------------------------------

    def hears(self, event: str, about: Any) -> None:
        """Let an event come over the line, late or never."""
        number = f"s:{self.room.number()}"
        if self.room.line == "up":
            self.hearing.alive()
            self.taken(event, about, number)
        else:
            self.room.missed.append(lambda surface: surface.taken(event, about, number))

    def reaction(self, message_id: str, person: str, signal: Signal, *, added: bool) -> None:
        about = SimpleNamespace(
            emoji=SimpleNamespace(name=signal.character, id=None),
            event_type="REACTION_ADD" if added else "REACTION_REMOVE",
            user_id=int(self.room.account(person)),
            guild_id=GUILD,
            channel_id=CHANNEL,
            message_author_id=ME if added else None,
            message_id=int(message_id),
            type=SimpleNamespace(name="normal"),
        )
        self.hears("raw_reaction_add" if added else "raw_reaction_remove", about)

    def typed(self, person: str, text: str) -> None:
        self.hears("message", self._written(person, f"!{text}", None))

    def replied(self, person: str, message_id: str, words: str) -> None:
        under = SimpleNamespace(message_id=int(message_id), type=None, channel_id=CHANNEL)
        self.hears("message", self._written(person, words, under))

    def _written(self, person: str, content: str, reference: Any) -> Any:
        return SimpleNamespace(
            id=7_000_000 + self.room.number(),
            author=SimpleNamespace(id=int(self.room.account(person)), bot=False),
            content=content,
            guild=SimpleNamespace(id=GUILD),
            channel=SimpleNamespace(id=CHANNEL, parent_id=None),
            reference=reference,
            webhook_id=None,
            attachments=[],
            embeds=[],
            stickers=[],
            type=discord.MessageType.default,
        )

    async def pressed(self, message_id: str, person: str, signal: Signal, reason: str) -> None:
        """A button, which Discord sends over the line and never again."""
        if self.room.line != "up" or self.listening is None:
            return
        interaction: Any = SimpleNamespace(
            id=9_000_000 + self.room.number(),
            user=SimpleNamespace(id=int(self.room.account(person))),
            extras={},
            guild_id=GUILD,
            channel_id=CHANNEL,
            channel=None,
        )
        asked: Mapping[str, Any] = {
            "what": "pressed", "message": message_id, "signal": signal.name, "reason": reason,
        }  # fmt: skip
        lane = card_lane(message_id, signal, self.room.account(person))
        await self.listening._asked.take(interaction, lane, asked)

    def cleared(self, message_id: str) -> None:
        about = SimpleNamespace(channel_id=CHANNEL, message_id=int(message_id))
        self.hears("raw_reaction_clear", about)

    def deleted(self, message_id: str) -> None:
        about = SimpleNamespace(channel_id=CHANNEL, message_id=int(message_id), message_ids=None)
        self.hears("raw_message_delete", about)


async def _nothing(_: int) -> None:
    return None
