"""Takes all that is heard on Discord, stored first and then processed once; reads cards after gaps.

Twin: `slack/listening.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import discord

from bot.chat.commands.commands import Commands
from bot.chat.commands.typed import lane_of
from bot.chat.discord.asked import Asked
from bot.chat.discord.board import DiscordBoard
from bot.chat.discord.commands import TextCommands, forwarded, is_command_word, message_payload
from bot.chat.discord.hints import Hints
from bot.chat.discord.interactions import Interactions
from bot.chat.discord.offering import Offering
from bot.chat.discord.payloads import (
    LINE_MS,
    TOLD_MS,
    arrives_empty,
    cleared_payload,
    deleted_payload,
    edit_payload,
    emptied,
    reaction_payload,
)
from bot.chat.discord.places import Places
from bot.chat.discord.reactions import Reactions
from bot.chat.discord.reasons import reason_given
from bot.chat.discord.settings import SURFACE
from bot.chat.discord.showing import Showing
from bot.chat.discord.taken_off import TakenOff
from bot.chat.discord.unstored import Unstored
from bot.chat.hearing.copies import Copies
from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.inbox import Inbox, Payload
from bot.chat.hearing.incoming import UNREAD, Incoming
from bot.chat.hearing.notes import Notes
from bot.chat.hearing.reading import Reading
from bot.chat.hearing.senders import turn_of
from bot.chat.hearing.shown import GIVEN_MS, HEARD_MS
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.stops import StopOf, stop_by, stop_typed
from bot.chat.showing.aside import Asides
from bot.chat.showing.board_keeping import BoardKeeper
from bot.chat.showing.delivery import Delivery
from bot.chat.surface import SurfaceFailed
from bot.chat.turns import taking_turns_as
from lifecycle.ports import StoreUnavailable
from lifecycle.workflow import Workflow

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface


class Listening:
    """What listens during one `serve` of the surface, over as many connections as that takes."""

    def __init__(self, surface: DiscordSurface, commands: Commands, delivery: Delivery) -> None:
        workflow = commands.workflow
        self._surface = surface
        self._settings = surface.settings
        self._workflow: Workflow = workflow
        notes = Notes(workflow.world.clock)
        self._asides = Asides()
        self._incoming = Incoming(workflow, SURFACE)
        self._hints = Hints(workflow, self._incoming, surface, notes, self._asides)
        self.inbox = Inbox(SURFACE, workflow.world, self._worked)
        self._copies = Copies()
        self._taken_off = TakenOff(workflow.world.clock.now_ms)
        self._unstored = Unstored(workflow, self.inbox, self._hints, self._taken_off)
        self.showing = Showing(workflow, delivery)
        self.reactions = Reactions(
            *(workflow, self._incoming, surface, self.showing, self._taken_off),
            reading=lambda: self.reading,
            lanes=self.inbox.lanes,
            hints=self._hints,
        )
        self._commands = TextCommands(commands, workflow, surface.rest, notes, self._asides)
        self._asked = Asked(commands, self._incoming, self.reactions, surface.rest, self.inbox)
        self._interactions = Interactions(self._asked)
        self.offering = Offering(workflow, self._interactions, surface.rest)
        self.board = BoardKeeper(workflow.world, SURFACE, DiscordBoard(surface).place)
        self._places = Places(surface.rest)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.reading = Reading(
            *(workflow, SURFACE, surface.hearing, self.reactions.read),
            lambda: self.inbox.heard_out and not self._tasks,
            ask=surface.sign_of_life,
        )
        self._deaf = False

    async def run(self) -> None:
        """Process what was kept, then keep the board current until cancelled."""
        await self.inbox.resume()
        await self.board.run()

    async def close(self) -> None:
        """Cancel what is under way; what is stored is processed at the next start.

        A stop that is not stored yet is left to the end of the process, which gives it a moment.
        """
        ours = self._tasks - self._workflow.world.background.tasks
        for task in ours:
            task.cancel()
        closing = (self.offering.close(), self._commands.answers.close())
        await asyncio.gather(*ours, *closing, return_exceptions=True)
        await self.inbox.close()
        await self._asides.close()

    def troubles(self) -> list[str]:
        """Return lines about what is not heard, not shown or not offered, for `status`."""
        found = [each for each in (self.reading.trouble(),) if each is not None]
        if self._deaf:
            found.append(
                "messages arrive empty: switch on Message Content Intent at "
                "https://discord.com/developers/applications (Bot, Privileged Gateway Intents)"
            )
        if self.board.trouble is not None:
            found.append(f"the board cannot be shown: {self.board.trouble}")
        if self.offering.trouble is not None:
            found.append(f"slash commands are not offered: {self.offering.trouble}")
        return found

    # -- events ---------------------------------------------------------------------------

    def taken(self, event: str, about: Any, number: str) -> None:
        """Take one event, in the order in which it was parsed."""
        me = self._surface.rest.me
        match event:
            case "raw_reaction_add" | "raw_reaction_remove":
                self._reacted(about, number, me)
            case "message":
                self._message(about, me)
            case "raw_message_edit":
                self._edited(about, me)
            case "raw_reaction_clear" | "raw_reaction_clear_emoji":
                self._cleared(about, number)
            case "raw_message_delete" | "raw_bulk_message_delete":
                self._deleted(about, number)
            case _:
                about.extras[HEARD_MS] = self._heard_ms()
                self._spawn(self._interactions.raw(about))

    def _reacted(self, about: discord.RawReactionActionEvent, number: str, me: int | None) -> None:
        copy_of = self._copies.original(str(about.message_id))
        given_ms = self._surface.hearing.told_late_since_ms
        payload = reaction_payload(about, self._settings, me, copy_of, given_ms)
        if payload is not None:
            payload[LINE_MS] = self._surface.hearing.line_ms
            payload[TOLD_MS] = self._workflow.world.clock.now_ms()
            self._taken_off.heard(payload)
            if given_ms is not None and self._taken_off.before(payload, given_ms):
                payload[HEARD_MS] = payload[TOLD_MS]  # the line tells in order: it was given later
            signal = Signal[payload["signal"]]
            lane = card_lane(payload["message"], signal, payload["user"])
            about_card = payload["message"] if payload["in_place"] else ""
            stops = stop_by(about_card, signal, added=payload["added"])
            self._keep(number, lane, payload, stops)

    def _message(self, about: discord.Message, me: int | None) -> None:
        self._copies.note(str(about.id), forwarded(about, self._settings))
        payload = message_payload(about, self._settings, me)
        if payload is None:
            return
        self._listen_for_content(about)
        if payload["text"] is not None:
            lane = lane_of(payload["text"], str(about.author.id), str(about.id))
            self._keep(str(about.id), lane, payload, stop_typed(payload["text"]))
        elif payload["guild"] and (payload["reply_to"] or payload["parent"]):
            # Words may wait for the ❌ that they explain, and that one until somebody mends a row.
            # So they have a lane for each card: no command or other words wait behind them.
            on = payload["channel"] if payload["parent"] else payload["reply_to"]
            self._keep(str(about.id), f"w:{about.author.id}:{on}", payload)

    def _listen_for_content(self, about: discord.Message) -> None:
        """Detect that the content intent is missing: an agent's message arrives empty."""
        agents = self._workflow.policy.agents.values()
        known = any(each.accounts.get(SURFACE) == str(about.author.id) for each in agents)
        if known and (empty := arrives_empty(about)) is not None:
            self._deaf = empty

    def _edited(self, about: discord.RawMessageUpdateEvent, me: int | None) -> None:
        message_id = emptied(about, self._settings, me)
        if message_id is not None:
            self.board.lost((message_id,))
            self._spawn(self.showing.hidden(message_id))
        payload = edit_payload(about, self._settings, me)
        if payload is not None:
            number = f"edit:{about.message_id}:{about.data.get('edited_timestamp')}"
            self._keep(number, f"c:{payload['user']}", payload)

    def _cleared(self, about: Any, number: str) -> None:
        self._keep(number, f"m:{about.message_id}", cleared_payload(about, self._settings))

    def _deleted(self, about: Any, number: str) -> None:
        payload = deleted_payload(about, self._settings)
        if payload is not None:
            self.board.lost(payload["messages"])
            self.showing.vanished(payload["messages"])
            self._keep(number, "deleted", payload)

    def _keep(
        self, event_id: str, lane: str, payload: Payload | None, stops: StopOf | None = None
    ) -> None:
        if payload is not None:
            late_ms = self._surface.hearing.told_late_since_ms
            payload = {HEARD_MS: self._heard_ms(stops), GIVEN_MS: late_ms, **payload}
            self._spawn(self._kept(event_id, lane, payload, stops), stops=stops is not None)

    def _heard_ms(self, stops: StopOf | None = None) -> int:
        return self._surface.hearing.heard_ms(stops=stops is not None)

    async def _kept(self, event_id: str, lane: str, payload: Payload, stops: StopOf | None) -> None:
        """Store an event, then process it; if nothing can be stored, process it all the same."""
        try:
            await self.inbox.take(event_id, lane, payload, stops)
        except StoreUnavailable:
            await self._unstored.work(event_id, lane, payload, stops)

    def _spawn(self, work: Coroutine[Any, Any, object], *, stops: bool = False) -> None:
        spawn = self._workflow.world.background.spawn if stops else asyncio.create_task
        task: asyncio.Task[Any] = spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.reading.doubt(task.exception())

    # -- work -----------------------------------------------------------------------------

    async def _worked(self, event_id: str, payload: Payload) -> None:
        who = str(payload.get("user", ""))
        try:
            with taking_turns_as(turn_of(self._workflow.policy, SURFACE, who)):
                await self._work(event_id, payload)
        except (SurfaceFailed, StoreUnavailable):
            raise
        except Exception:
            self.reading.doubt()
            raise

    async def _work(self, event_id: str, payload: Payload) -> None:
        match payload["kind"]:
            case "reaction":
                await self.reactions.reacted(event_id, payload)
            case "message":
                await self._heard(event_id, payload)
            case "edited" if await self._places.ours(payload):
                await self._commands.edited(event_id, {"bot": False, **payload})
            case "cleared":
                signal = Signal[payload["signal"]] if payload["signal"] else None
                await self.reactions.cleared(payload["message"], signal)
            case "deleted":
                await self.reactions.deleted(list(payload["messages"]))
            case "interaction":
                await self._asked.work(event_id, payload)
            case _:
                return

    async def _heard(self, event_id: str, payload: Payload) -> None:
        if not await self._places.ours(payload):
            if payload["text"] is not None and is_command_word(str(payload["text"])):
                await self._commands.misplaced(event_id, payload)
            return
        if payload["text"] is not None:
            if await self.reactions.heard_before(str(payload["text"])):
                await self._commands.run(event_id, payload)
            else:
                self._hints.answer(payload, UNREAD.words)
            return
        sender = self._commands.sender(payload, event_id)
        reply = await reason_given(self._incoming, sender, payload)
        if reply is not None:
            self._hints.answer(payload, reply.words)

    @property
    def quiet(self) -> bool:
        """True while nothing that was heard waits to be processed, or to be answered."""
        return self.inbox.quiet and not self._tasks and self._asides.quiet

    def connected(self) -> None:
        """A new connection stands: deliver at once what waited, and read what was missed."""
        self.reactions.known.forget()
        self.board.lost()
        self.reading.begin_anew()
        self._spawn(self.showing.now())
        self._spawn(self.reading.catch_up())

    def shows_more(self) -> None:
        """The bot has got a permission that it lacked: deliver at once what waited."""
        self._spawn(self.showing.now())
