"""Takes what Slack delivers: stored before it is acknowledged, then processed by kind.

Twin: `discord/listening.py`; what cannot be stored is in `discord/unstored.py` there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from bot.chat.commands.commands import Commands
from bot.chat.commands.typed import is_stop, lane_of, takes_back
from bot.chat.hearing.copies import Copies
from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.given_before import given_before, given_or_heard
from bot.chat.hearing.inbox import Inbox, Payload
from bot.chat.hearing.incoming import UNREAD, Incoming
from bot.chat.hearing.left_behind import LISTENED, homes
from bot.chat.hearing.moderated import card_deleted
from bot.chat.hearing.owners import USER
from bot.chat.hearing.senders import stranger
from bot.chat.hearing.shown import GIVEN_MS, HEARD_MS
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.stops import StopOf, stop_by, stop_typed
from bot.chat.showing.aside import Asides
from bot.chat.showing.delivery import Delivery
from bot.chat.slack.accounts import SURFACE, is_named, turn_of, user_of
from bot.chat.slack.checks import Me
from bot.chat.slack.commands import SPOKEN_TO, Said, SlackCommands, said
from bot.chat.slack.desk import Desk
from bot.chat.slack.emoji import ms_of, reacted
from bot.chat.slack.events import mentions_by_edit, number_of, place_of, shared, team_of
from bot.chat.slack.interactions import Interactions
from bot.chat.slack.reacting import Reacting
from bot.chat.slack.reactions import Reactions
from bot.chat.slack.reasons import replied
from bot.chat.slack.speaking import Speaking
from bot.chat.surface import SurfaceFailed
from bot.chat.turns import taking_turns_as
from lifecycle.ports import StoreClosed, StoreUnavailable
from lifecycle.proposal import ActorKind

#: What cannot be stored is processed for so long; then Slack, which gives 3 s, delivers it again.
_WORKED_S: Final = 1.5


class Listening:
    """Routes events: `hear` runs before the acknowledgement and says its words, `work` after."""

    def __init__(self, desk: Desk, me: Me, commands: Commands, delivery: Delivery) -> None:
        workflow = commands.workflow
        self._vanished = delivery.vanished
        self.inbox = Inbox(SURFACE, workflow.world, self.work)
        self._incoming = Incoming(workflow, SURFACE)
        self._workflow = workflow
        self._me = me
        self._desk, self._rest = desk, desk.rest
        self.asides = Asides()
        self._speaking = Speaking(desk, me, self.asides)
        self.reactions = Reactions(desk, me, self.inbox.lanes, tell=self._speaking.void)
        self._copies = Copies()
        self._unstored: dict[str, asyncio.Task[None]] = {}
        self._closed = False
        self._reacting = Reacting(
            *(desk, me, self._incoming, delivery, self.reactions, self._speaking),
            copies=self._copies,
            asides=self.asides,
        )
        self._commands = SlackCommands(commands, desk, self.asides)
        self._interactions = Interactions(
            *(desk, self.inbox, self._incoming, self._commands, self._speaking, self.reactions),
            asides=self.asides,
        )

    async def close(self) -> None:
        """Take nothing more; what is stored is processed at the next start."""
        self._closed = True
        await self._commands.answers.close()
        await self.inbox.close()
        await self.asides.close()

    async def hear(self, kind: str, body: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        """Store what was delivered. Raises StoreUnavailable: Slack delivers it again then."""
        if self._closed:
            raise StoreClosed("Signoff is stopping")
        match kind:
            case "event":
                await self._heard_event(body)
            case "command":
                return await self._interactions.heard_command(body)
            case "action":
                await self._interactions.heard_button(body)
            case "view":
                return await self._interactions.heard_form(body)
            case _:
                return None
        return None

    async def _heard_event(self, body: Mapping[str, Any]) -> None:
        event = body.get("event") or {}
        self._desk.presence.heard(event, self._me.user)
        # If there are answers in its thread, a tombstone is left.
        left = (event.get("message") or {}).get("subtype")
        if event.get("subtype") == "message_deleted" or left == "tombstone":
            await self._keep("deleted", body, number_of(body), "deleted")
            return
        if event.get("subtype") == "message_changed" or mentions_by_edit(event):
            await self._heard_edit(body, event)
            return
        user = str(event.get("user") or event.get("bot_id") or "")
        if not user or user in (self._me.user, self._me.bot) or event.get("bot_id") == self._me.bot:
            return
        self._copies.note(place_of(event), shared(event, self._rest.id))
        if str(event.get("type")).startswith("reaction_"):
            await self._heard_reaction(body, event)
        elif (heard := said(event, self._me.user)) is not None:
            # A mention arrives twice, as app_mention and as message: it is one by its place.
            await self._heard_words(body, heard)
        elif event.get("channel") == self._rest.id and (words := replied(event)) is not None:
            # Words may wait for the ❌ that they explain: those on another card have another lane.
            number, lane = f"reply:{event['channel']}:{event['ts']}", f"{user}:{words.message_ts}"
            await self._keep("reply", body, number, lane)
        else:
            self._speaking.spoken_of(event)

    async def _heard_words(self, body: Mapping[str, Any], heard: Said) -> None:
        event_id, stops = f"said:{heard.channel}:{heard.ts}", stop_typed(heard.text)
        lane = lane_of(heard.text, heard.user or heard.bot, heard.ts)
        try:
            await self._keep("said", body, event_id, lane, stops)
        except StoreUnavailable:
            if not is_stop(heard.text) and stops is None:
                raise
            # If nothing can be stored, a stop is processed all the same, and the law spools it.
            # Whoever withdraws a proposal is told that nothing was done.
            await self._stops(event_id, lane, self._payload("said", body, event_id), stops)

    async def _heard_edit(self, body: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Keep the edit of a command, so that the trail notes that it changes nothing."""
        changed = event.get("message") or event
        user, edited = str(changed.get("user") or ""), changed.get("edited") or {}
        if not edited or user in ("", self._me.user):
            return
        if said(changed, self._me.user) is not None:
            # It may arrive twice, as the message and as a mention.
            number = f"edited:{event.get('channel')}:{changed.get('ts')}:{edited.get('ts')}"
            await self._keep("edited", body, number, f"c:{user}")

    async def _heard_reaction(self, body: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        heard, event_id = reacted(event), number_of(body)
        if heard is None or not (heard.channel == self._rest.id or self._reacting.may_be_of(heard)):
            return
        about_card = heard.message_ts if heard.channel == self._rest.id else ""
        stops = stop_by(about_card, heard.signal, added=heard.added)
        # Each card has one lane: what ana took back must not count with ben's ✅ right behind it.
        lane = card_lane(heard.message_ts, heard.signal, heard.user)
        try:
            await self._keep("reaction", body, event_id, lane, stops)
        except StoreUnavailable:
            payload = self._payload("reaction", body, event_id)
            if heard.signal is not Signal.STOP:
                if stops is not None:  # a ✅ was taken off, and must open nothing with others' ✅
                    self._held(event_id, lane, payload, stops)
                raise
            # If nothing can be stored, a ❌ must be processed all the same: the law spools it.
            await self._stops(event_id, lane, payload, stops)

    async def _stops(
        self, event_id: str, lane: str, payload: Payload, stops: StopOf | None
    ) -> None:
        """Process an unstored stop. Raises StoreUnavailable if that takes longer than 1.5 s."""
        working = self._held(event_id, lane, payload, stops)
        await asyncio.wait({working}, timeout=_WORKED_S)
        if not working.done():
            raise StoreUnavailable("it could be neither stored nor carried out so far")
        working.result()

    def _held(
        self, event_id: str, lane: str, payload: Payload, stops: StopOf | None
    ) -> asyncio.Task[None]:
        """Return the task that processes what cannot be stored, and holds what it stops until that
        is done: Slack may take minutes to deliver it again.

        Of the same emoji of one account on a message only one is tried, however often it is put
        there and taken off. A stranger's emoji is tried once, so that nobody can fill the memory
        while nothing can be stored for hours.
        """
        said = reacted(payload["event"]) if payload["kind"] == "reaction" else None
        key = event_id
        if said is not None and stops is not None:  # else: a ❌ taken off is not the one put there
            key = f"{said.signal.name}:{said.message_ts}:{said.user}"
        working = self._unstored.get(key)
        if working is None:
            strange = said is not None and not is_named(self._workflow.policy, said.user)
            again = stops is not None and not strange
            work = self.inbox.work_unstored(event_id, lane, payload, stops, again=again)
            working = self._workflow.world.background.spawn(work, told=(SurfaceFailed,))
            self._unstored[key] = working
            working.add_done_callback(lambda _: self._unstored.pop(key, None))
        return working

    async def _keep(
        self,
        kind: str,
        body: Mapping[str, Any],
        event_id: str,
        lane: str,
        stops: StopOf | None = None,
    ) -> None:
        await self.inbox.take(event_id, lane, self._payload(kind, body, event_id), stops)

    def _payload(self, kind: str, body: Mapping[str, Any], event_id: str) -> dict[str, Any]:
        event = dict(body.get("event") or {})
        given_ms = self._desk.web.clocks.ours(ms_of(event.get("event_ts")))
        told = {"kind": kind, "event": event, "team_id": body.get("team_id"), "event_id": event_id}
        heard_ms = given_or_heard(given_ms, self._desk.clock.now_ms())
        told |= {USER: user_of(told), LISTENED: self._rest.id, SPOKEN_TO: self._me.user}
        return told | {GIVEN_MS: given_ms, HEARD_MS: heard_ms}

    # -- after the acknowledgement --------------------------------------------------------

    async def work(self, event_id: str, payload: Payload) -> None:
        """Process one stored event. Raises SurfaceFailed, StoreUnavailable: it is tried again."""
        with taking_turns_as(turn_of(self._workflow.policy, user_of(payload))):
            await self._work(event_id, payload)

    async def _work(self, event_id: str, payload: Payload) -> None:
        kind, body = str(payload.get("kind")), payload.get("body")
        if body is not None:
            on = self._interactions
            doing = {"command": on.command, "action": on.button, "view": on.form}
            await doing[kind](event_id, body)
            return
        working = {
            "reaction": self._reacting.reacted,
            "said": self._said,
            "reply": self._reply,
            "edited": self._edited,
            "deleted": self._deleted,
        }
        await working[kind](event_id, payload)

    async def _said(self, event_id: str, payload: Payload) -> None:
        heard = said(payload["event"], str(payload.get(SPOKEN_TO, self._me.user)))
        if heard is None:
            return
        user = heard.user or await self._desk.accounts.user_of_bot(heard.bot) or heard.bot
        place = f"{heard.channel}:{heard.thread_ts}"
        team, stops = team_of(payload), is_stop(heard.text)
        bounded = stops or takes_back(heard.text)
        sender = await self._speaking.sender(user, team, event_id, place, stops=bounded)
        if heard.bot and sender.kind is ActorKind.PERSON:
            # An app with a person's token writes in their name; those are not the person's words.
            account = f"{sender.account} through the app {heard.bot}"
            sender = stranger(SURFACE, account, event_id=event_id, place=place)
        if heard.channel not in homes(self._rest.id, payload, stops=stops):
            await self._speaking.elsewhere(user, heard.channel, sender)
            return
        early = await given_before(self._workflow.world, heard.text, payload.get(GIVEN_MS))
        if early is not None and early.code is not None:
            await self._workflow.note_ignored(early.proposal_id or "", sender, early.code)
            self.asides.begin(self._rest.hint(user, early.words, heard.thread_ts), to=user)
            return
        if not await self.reactions.heard_before(heard.text):
            self.asides.begin(self._rest.hint(user, UNREAD.words, heard.thread_ts), to=user)
            return
        await self._commands.mentioned(heard, sender)

    async def _reply(self, event_id: str, payload: Payload) -> None:
        heard = replied(payload["event"])
        if heard is None:
            return
        sender = await self._speaking.sender(heard.user, team_of(payload), event_id)
        reply = await self._incoming.replied(sender, heard.message_ts, heard.words)
        if reply is None:
            self._speaking.spoken_of(payload["event"])
            return
        self.asides.begin(self._rest.hint(heard.user, reply.words, heard.message_ts), heard.user)

    async def _edited(self, event_id: str, payload: Payload) -> None:
        changed = payload["event"].get("message") or payload["event"]
        team = str(changed.get("team") or payload.get("team_id") or "")
        sender = await self._speaking.sender(str(changed["user"]), team, event_id)
        await self._workflow.note_ignored("", sender, "duplicate_event")
        event = {"channel": payload["event"].get("channel"), **changed}
        heard = said(event, str(payload.get(SPOKEN_TO, self._me.user)))
        if heard is not None:
            self._commands.edited(heard)

    async def _deleted(self, _event_id: str, payload: Payload) -> None:
        event = payload["event"]
        gone = event.get("message") or event.get("previous_message") or {}
        ts = event.get("deleted_ts") or gone.get("ts")
        if event.get("channel") == self._rest.id and ts:
            self._desk.board.lost([str(ts)])
            self._desk.seeds.gone(str(ts))
            self._vanished.note(str(ts))  # before the look for its row, which may not exist yet
            await card_deleted(self._workflow.world, SURFACE, str(ts))
