"""Stores what a button, a form or a slash command asks for, processes it, and answers.

An interaction leaves no trace on a card, as an emoji does: if it were acknowledged before it is
stored, it would be lost with the process. Twin on Slack: `slack/interactions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import discord

from bot.chat.commands.commands import Commands
from bot.chat.commands.replies import CommandReply
from bot.chat.discord.files import attached
from bot.chat.discord.linking import where_it_stands
from bot.chat.discord.reactions import Reactions
from bot.chat.discord.render import Said, answer_messages
from bot.chat.discord.rest import Rest
from bot.chat.discord.settings import SURFACE
from bot.chat.hearing.inbox import Inbox, Payload
from bot.chat.hearing.incoming import UNREAD, Incoming
from bot.chat.hearing.left_behind import LISTENED, homes
from bot.chat.hearing.senders import as_known_now, sender_of
from bot.chat.hearing.shown import HEARD_MS
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.stops import StopOf, stop_on, stop_typed
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.ports import StoreUnavailable
from lifecycle.stops.spooling import unavailable
from lifecycle.workflow import Workflow

KIND: Final = "interaction"
#: After so long an interaction is acknowledged even if it is not stored: Discord gives 3 seconds.
_STORED_S: Final = 1.5
#: So long an answer is waited for; Discord lets an interaction be answered for 15 minutes.
_ANSWERED_S: Final = 600.0
_LONG: Final = "It takes longer than an answer can wait; the card shows what became of it."


class Asked:
    """Puts what was asked into the inbox, and hands the answer to whoever waits for it."""

    def __init__(
        self,
        commands: Commands,
        incoming: Incoming,
        reactions: Reactions,
        rest: Rest,
        inbox: Inbox,
    ) -> None:
        self._workflow: Workflow = commands.workflow
        self._commands = commands
        self._incoming = incoming
        self._rest = rest
        self._settings = rest.settings
        self._inbox = inbox
        self._reactions = reactions
        self._waiting: dict[str, asyncio.Future[list[Said]]] = {}

    async def take(
        self, interaction: discord.Interaction, lane: str, asked: Mapping[str, Any]
    ) -> asyncio.Task[list[Said]]:
        """Store what was asked; return a task whose result will be the answer.

        If nothing can be stored, it is processed at once: the law spools a stop. A stop on a
        message that may be a card without a row yet is tried again until it can be stored.
        """
        payload = {"kind": KIND, **place_of(interaction), **asked}
        payload[LISTENED] = str(self._settings.channel)
        if _stops(payload) is None and HEARD_MS in interaction.extras:
            payload[HEARD_MS] = interaction.extras[HEARD_MS]
        event_id = payload["number"]  # also in the Sender: by it the law finds when this was heard
        self._waiting[event_id] = asyncio.get_running_loop().create_future()
        taken = self._taken(event_id, lane, payload)
        taking = self._workflow.world.background.spawn(taken, told=(SurfaceFailed,))
        await asyncio.wait({taking}, timeout=_STORED_S)
        return asyncio.create_task(self._answer(event_id, taking))

    async def work(self, event_id: str, payload: Payload) -> None:
        """Process what was stored. Raises SurfaceFailed, StoreUnavailable: it is tried again."""
        said = await self._worked(payload)
        waiting = self._waiting.get(event_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(said)

    def sender(self, payload: Payload) -> Sender:
        """Return who asked, as the present policy knows them."""
        return sender_of(
            self._workflow.policy,
            SURFACE,
            str(payload["user"]),
            event_id=str(payload["number"]),
            place=f"{payload['channel']}:",
        )

    def in_place(self, payload: Payload) -> bool:
        """Say whether it was asked in the configured channel or in a thread of it; for a stop, in
        the one that was configured when it was heard."""
        # A question for ids to complete comes without words, and was stored nowhere.
        stops = LISTENED in payload and _stops(payload) is not None
        ours = homes(str(self._settings.channel), payload, stops=stops)
        here = not ours.isdisjoint((payload["channel"], payload["parent"]))
        moved = len(ours) > 1  # the channel of then may stand in another server
        return here and (moved or payload["guild"] == str(self._settings.guild))

    # -- inside ---------------------------------------------------------------------------

    async def _taken(self, event_id: str, lane: str, payload: Payload) -> None:
        try:
            await self._inbox.take(event_id, lane, payload, _stops(payload))
        except StoreUnavailable:
            # A stranger stops nothing, and is tried once: else anybody could fill the memory.
            stops, known = _stops(payload), self.sender(payload).identity is not None
            again = stops is not None and known
            await self._inbox.work_unstored(event_id, lane, payload, stops, again=again)

    async def _answer(self, event_id: str, taking: asyncio.Task[None]) -> list[Said]:
        answer = self._waiting[event_id]
        try:
            async with asyncio.timeout(_ANSWERED_S):
                await asyncio.shield(taking)
                return await answer
        except (StoreUnavailable, SurfaceFailed):  # it was not stored, and is not tried again
            return answer_messages(CommandReply.of(unavailable()))
        except TimeoutError:
            return [Said(_LONG)]
        finally:
            self._waiting.pop(event_id, None)

    async def _worked(self, payload: Payload) -> list[Said]:
        sender = self.sender(payload)
        if payload["what"] == "pressed":
            return await self._pressed(sender, payload)
        if not self.in_place(payload):
            await self._workflow.note_ignored("", sender, "wrong_place")
            return [Said(f"Commands are read in <#{self._settings.channel}> and its threads.")]
        text = str(payload["text"])
        if not await self._reactions.heard_before(text):
            return answer_messages(CommandReply.of(UNREAD))
        files = [attached(each, self._rest) for each in payload.get("files", ())]
        sender = as_known_now(self._workflow.policy, sender)
        return answer_messages(await self._commands.run(text, sender, files))

    async def _pressed(self, sender: Sender, payload: Payload) -> list[Said]:
        signal, message_id = Signal[payload["signal"]], str(payload["message"])
        approves = signal is Signal.APPROVE and self.in_place(payload)
        card = await self._incoming.unplaced.card(message_id) if approves else None
        if card is not None and not await self._reactions.stopped_first(card.proposal_id):
            return answer_messages(CommandReply.of(UNREAD))
        reply = await self._incoming.pressed(
            sender, message_id, signal, str(payload["reason"]), in_place=self.in_place(payload)
        )
        place = await where_it_stands(self._workflow.world.store, self._settings, reply)
        return answer_messages(CommandReply.of(replace(reply, words=f"{reply.words}{place}")))


def _stops(payload: Payload) -> StopOf | None:
    """Return which proposal the interaction stops, None if it is no stop."""
    if payload["what"] == "pressed":
        return stop_on(str(payload["message"]), Signal[payload["signal"]])
    return stop_typed(str(payload["text"]))


def place_of(interaction: discord.Interaction) -> dict[str, Any]:
    """Return who began the interaction and where, in a form that can be stored."""
    parent = getattr(interaction.channel, "parent_id", None)
    return {
        "number": str(interaction.id),
        "user": str(interaction.user.id),
        "guild": str(interaction.guild_id),
        "channel": str(interaction.channel_id),
        "parent": str(parent),
    }
