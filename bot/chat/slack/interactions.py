"""Takes buttons, forms and slash commands: stored, acknowledged at once, processed after that.

Twins: `discord/asked.py` and `discord/interactions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.commands.typed import is_stop, lane_of, takes_back
from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.inbox import Inbox
from bot.chat.hearing.incoming import UNREAD, Incoming
from bot.chat.hearing.left_behind import LISTENED, homes
from bot.chat.hearing.owners import USER
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.stops import StopOf, stop_on, stop_typed
from bot.chat.showing.aside import Asides
from bot.chat.slack.accounts import is_named, user_of
from bot.chat.slack.commands import SlackCommands, received
from bot.chat.slack.desk import Desk
from bot.chat.slack.reactions import Reactions
from bot.chat.slack.speaking import Speaking
from bot.chat.slack.text import unescape
from bot.chat.slack.views import Pressed, modal, no_reason, pressed, submitted
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Reply
from lifecycle.ports import StoreUnavailable
from lifecycle.stops.spooling import unavailable

#: After so long it is acknowledged even if it is not stored yet: Slack gives three seconds.
_STORED_S: Final = 1.5
_ELSEWHERE: Final = "Signoff listens and decides in <#{}> alone."
#: The parts of a command or an interaction that are stored to process it.
_KEPT: Final = (
    *("user_id", "team_id", "channel_id", "text", "response_url"),
    *("user", "team", "channel", "container", "actions", "view"),
)


class Interactions:
    """Processes what people do with the bot's own controls.

    The methods `heard_…` store before the acknowledgement; the others run after it.
    """

    def __init__(
        self,
        desk: Desk,
        inbox: Inbox,
        incoming: Incoming,
        commands: SlackCommands,
        speaking: Speaking,
        reactions: Reactions,
        *,
        asides: Asides,
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._incoming = incoming
        self._commands = commands
        self._speaking = speaking
        self._reactions = reactions
        self._asides = asides

    async def heard_command(self, body: Mapping[str, Any]) -> str:
        """Store a slash command; return the words that acknowledge it."""
        user = str(body.get("user_id", ""))
        number = body.get("trigger_id") or body.get("response_url")
        text = str(body.get("text", ""))
        kept, words = self._kept("command", body), unescape(text)
        lane, stops = lane_of(words, user, str(number)), is_stop(words)
        await self._take(f"slash:{number}", lane, kept, stop_typed(words), unstored=stops)
        return received(text)

    async def heard_button(self, body: Mapping[str, Any]) -> None:
        """Store a pressed button; Reject opens the form for the reason at once."""
        asked = pressed(body)
        if asked is None:
            return
        action = (body.get("actions") or [{}])[0]
        trigger = str(body.get("trigger_id") or "")
        number = trigger or f"{asked.user}:{action.get('action_ts')}"
        lane = card_lane(asked.message_ts, asked.signal, asked.user)
        stops, kept = asked.signal is Signal.STOP, self._kept("action", body)
        fresh = await self._take(f"press:{number}", lane, kept, unstored=stops)
        if fresh and stops:
            self._asides.begin(self._ask_why(asked, trigger))

    async def heard_form(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Store a form that was sent; return what is wrong with it, None if nothing is."""
        sent = submitted(body)
        if sent is None:
            return None
        if not sent.reason:
            return no_reason()
        view = body.get("view") or {}
        lane = card_lane(sent.message_ts, sent.signal, sent.user)
        stops = stop_on(sent.message_ts, sent.signal)
        kept = self._kept("view", body)
        await self._take(f"form:{view.get('id')}", lane, kept, stops, unstored=True)
        return None

    async def command(self, event_id: str, body: Mapping[str, Any]) -> None:
        """Run a slash command and answer the person alone."""
        user, team = str(body.get("user_id", "")), str(body.get("team_id", ""))
        text = unescape(str(body.get("text", "")))
        stops, url, ours = is_stop(text), str(body.get("response_url", "")), self._desk.rest.id
        bounded = stops or takes_back(text)
        sender = await self._speaking.sender(user, team, event_id, stops=bounded)
        if body.get("channel_id") not in homes(ours, body, stops=stops):
            await self._desk.workflow.note_ignored("", sender, "wrong_place")
            self._asides.begin(self._desk.web.respond(url, _ELSEWHERE.format(ours)), to=user)
            return
        if not await self._reactions.heard_before(text):
            self._asides.begin(self._desk.web.respond(url, UNREAD.words), to=user)
            return
        await self._commands.slash(text, sender, url, user)

    async def button(self, event_id: str, body: Mapping[str, Any]) -> None:
        """Carry out Approve. Reject has only opened its form: what is sent from there decides."""
        asked = pressed(body)
        if asked is not None and asked.signal is Signal.APPROVE:
            await self._decided(event_id, asked, body)

    async def form(self, event_id: str, body: Mapping[str, Any]) -> None:
        """Carry out a rejection with its reason."""
        asked = submitted(body)
        if asked is not None:
            await self._decided(event_id, asked, body)

    async def _take(
        self,
        event_id: str,
        lane: str,
        kept: Mapping[str, Any],
        stops: StopOf | None = None,
        *,
        unstored: bool,
    ) -> bool:
        """Store it, and return whether it is new. If storing takes long, return True: it goes on.

        Nobody should read that it timed out and send it again. What `stops` something is waited for
        all the same: whoever sent it may trust in it once Slack shows no error, and sending it
        again harms nothing. Reject itself stops nothing yet, and its form must open while its
        trigger lives. Raises StoreUnavailable if it is known by then that it cannot be stored.
        """
        storing = self._stored(event_id, lane, kept, stops, unstored=unstored)
        taking = self._desk.workflow.world.background.spawn(storing)
        await asyncio.wait({taking}, timeout=None if stops is not None else _STORED_S)
        if taking.done():
            return taking.result()
        self._asides.begin(self._told_late(taking, kept))
        return True

    async def _told_late(self, taking: asyncio.Task[bool], kept: Mapping[str, Any]) -> None:
        """Tell whoever was acknowledged already if it could not be stored after all."""
        try:
            await asyncio.shield(taking)
        except StoreUnavailable:
            words, body = unavailable().words, kept["body"]
            asked = pressed(body) if kept["kind"] == "action" else None
            if asked is not None:
                await self._desk.rest.hint(asked.user, words)
            else:
                await self._desk.web.respond(str(body.get("response_url", "")), words)

    async def _stored(
        self,
        event_id: str,
        lane: str,
        kept: Mapping[str, Any],
        stops: StopOf | None,
        *,
        unstored: bool,
    ) -> bool:
        """Store it; if that fails, process a stop (`unstored`) all the same: the law spools it.

        Slack delivers neither a command nor a form a second time.
        """
        try:
            return await self._inbox.take(event_id, lane, kept, stops)
        except StoreUnavailable:
            if not unstored:
                raise
            # A stranger stops nothing, and is tried once: else anybody could fill the memory.
            workflow = self._desk.workflow
            again = stops is not None and is_named(workflow.policy, user_of(kept))
            working = self._inbox.work_unstored(event_id, lane, kept, stops, again=again)
            workflow.world.background.spawn(working)
            return True

    async def _decided(self, event_id: str, asked: Pressed, body: Mapping[str, Any]) -> None:
        stops = asked.signal is Signal.STOP
        sender = await self._speaking.sender(asked.user, asked.team, event_id, stops=stops)
        in_place = asked.channel in homes(self._desk.rest.id, body, stops=stops)
        if asked.signal is Signal.APPROVE and in_place:
            card = await self._incoming.unplaced.card(asked.message_ts)
            known = card.proposal_id if card is not None else ""
            if not await self._reactions.stopped_first(known):
                self._hint(asked, UNREAD)
                return
        reply = await self._incoming.pressed(
            sender, asked.message_ts, asked.signal, asked.reason, in_place=in_place
        )
        self._hint(asked, reply)

    def _hint(self, asked: Pressed, reply: Reply) -> None:
        # A button leaves nothing on its card: who is asked to press again is answered each time.
        saying = self._speaking.hint(asked.user, asked.message_ts, reply, each_time=reply.passing)
        self._asides.begin(saying, to=asked.user)

    def _kept(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        parts = {key: body[key] for key in _KEPT if key in body}
        kept = {"kind": kind, "body": parts | {LISTENED: self._desk.rest.id}}
        return kept | {USER: user_of(kept)}

    async def _ask_why(self, asked: Pressed, trigger: str) -> None:
        """Open the form at once, for a trigger lives for 3 s only."""
        try:
            await self._desk.web.call("views.open", trigger_id=trigger, view=modal(asked))
        except SurfaceFailed:
            words = "The form could not be opened. React ❌, or use the command on the card."
            await self._desk.rest.hint(asked.user, words)
