"""What Slack delivers: stored before it is acknowledged, then given to who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bot.chat.commands import Commands
from bot.chat.delivery import Delivery
from bot.chat.inbox import Inbox, Payload
from bot.chat.incoming import Incoming, hint_of
from bot.chat.notes import Notes
from bot.chat.signals import Signal
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.checks import Me
from bot.chat.slack.commands import Said, SlackCommands, received, said
from bot.chat.slack.reactions import Reactions, reacted
from bot.chat.slack.reasons import replied
from bot.chat.slack.rest import Rest
from bot.chat.slack.views import Pressed, modal, no_reason, pressed, submitted
from bot.chat.surface import SurfaceFailed
from bot.chat.typed import typed
from lifecycle.answers import Reply, Sender
from lifecycle.ports import StoreUnavailable

if TYPE_CHECKING:
    from bot.chat.slack.notifier import Desk

_ELSEWHERE: Final = "Signoff listens and decides in <#{}> alone."


class Listening:
    """Routes events. `hear` returns what the acknowledgement says; `work` runs after it."""

    def __init__(self, desk: Desk, me: Me, commands: Commands, delivery: Delivery) -> None:
        workflow = commands.workflow
        self.inbox = Inbox(SURFACE, workflow.world, self.work)
        self._incoming = Incoming(workflow, SURFACE)
        self._workflow = workflow
        self._delivery = delivery
        self._me = me
        self._web, self._rest = desk.web, desk.rest
        self._accounts = desk.accounts
        self._board = desk.board
        self.reactions = Reactions(workflow, self._incoming, desk.rest, desk.accounts, me)
        self._commands = SlackCommands(commands, desk.rest, desk.web)
        self._notes = Notes(workflow.world.clock)

    async def hear(self, kind: str, body: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        """Store what was delivered. Raises StoreUnavailable: Slack delivers it again then."""
        if kind == "event":
            await self._heard_event(body)
        elif kind == "command":
            await self.inbox.take(
                f"slash:{body.get('trigger_id')}", str(body.get("user_id")), _kept(kind, body)
            )
            return received(str(body.get("text", "")))
        elif kind == "action":
            await self._heard_button(body)
        elif kind == "view":
            return await self._heard_modal(body)
        return None

    async def _heard_event(self, body: Mapping[str, Any]) -> None:
        event = body.get("event") or {}
        if event.get("subtype") == "message_deleted":
            await self._keep("deleted", body, str(body.get("event_id")), "deleted")
            return
        user = str(event.get("user") or event.get("bot_id") or "")
        if not user or user in (self._me.user, self._me.bot) or event.get("bot_id") == self._me.bot:
            return
        if str(event.get("type")).startswith("reaction_"):
            await self._heard_reaction(body, event)
        elif (heard := said(event, self._me.user)) is not None:
            # A mention arrives twice, as app_mention and as message: it is one by its place.
            await self._keep("said", body, f"said:{heard.channel}:{heard.ts}", _lane(heard))
        elif event.get("channel") == self._rest.id and replied(event) is not None:
            await self._keep("reply", body, f"reply:{event['channel']}:{event['ts']}", user)

    async def _heard_reaction(self, body: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        heard, event_id = reacted(event), str(body.get("event_id"))
        if heard is None:
            return
        try:
            # One lane a card: what ana took back must not count when ben's comes right behind it.
            await self._keep("reaction", body, event_id, f"m:{heard.message_ts}")
        except StoreUnavailable:
            if heard.signal is not Signal.STOP:
                raise
            # Where nothing can be stored a ❌ must be heard all the same: the law spools it.
            await self.work(event_id, _payload("reaction", body, event_id))

    async def _heard_button(self, body: Mapping[str, Any]) -> None:
        asked = pressed(body)
        if asked is None:
            return
        trigger = str(body.get("trigger_id"))
        lane = f"m:{asked.message_ts}"
        fresh = await self.inbox.take(f"press:{trigger}", lane, _kept("action", body))
        if fresh and asked.signal is Signal.STOP:
            self._workflow.world.spawn(self._ask_why(asked, trigger))

    async def _ask_why(self, asked: Pressed, trigger: str) -> None:
        """Open the modal at once: a trigger lives for 3 s."""
        try:
            await self._web.call("views.open", trigger_id=trigger, view=modal(asked))
        except SurfaceFailed:
            words = "The form could not be opened. React ❌, or use the command on the card."
            await self._rest.hint(asked.user, words)

    async def _heard_modal(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        sent = submitted(body)
        if sent is None:
            return None
        if not sent.reason:
            return no_reason()
        view = body.get("view") or {}
        await self.inbox.take(
            f"modal:{view.get('id')}", f"m:{sent.message_ts}", _kept("view", body)
        )
        return None

    async def _keep(self, kind: str, body: Mapping[str, Any], event_id: str, lane: str) -> None:
        await self.inbox.take(event_id, lane, _payload(kind, body, event_id))

    # -- after the acknowledgement --------------------------------------------------------

    async def work(self, event_id: str, payload: Payload) -> None:
        """Work one stored event. Raises SurfaceFailed, StoreUnavailable: it waits then."""
        match payload.get("kind"):
            case "reaction":
                await self._reaction(event_id, payload)
            case "said":
                await self._said(event_id, payload)
            case "reply":
                await self._reply(event_id, payload)
            case "deleted":
                await self._deleted(payload)
            case "command":
                await self._slash(event_id, payload["body"])
            case "action":
                await self._button(event_id, pressed(payload["body"]))
            case "view":
                await self._button(event_id, submitted(payload["body"]), said_why=True)
            case _:
                return

    async def _reaction(self, event_id: str, payload: Payload) -> None:
        heard = reacted(payload["event"])
        if heard is None:
            return
        in_place = heard.channel == self._rest.id
        if in_place and not heard.added and await self._another_tone_stands(heard):
            return
        sender = await self._sender(heard.user, _team(payload), event_id)
        if in_place:
            await self._card_written(heard.message_ts)
        reply = await self._incoming.reacted(
            sender, heard.message_ts, heard.signal, added=heard.added, in_place=in_place
        )
        if in_place and heard.added:
            await self._hint(heard.user, heard.message_ts, reply)

    async def _card_written(self, ts: str) -> None:
        """Wait where the message may be a card that is posted and not written down yet."""
        store = self._workflow.world.store
        if await store.read(lambda tx: tx.cards.find(SURFACE, ts)) is None:
            async with self._delivery.held():
                return

    async def _another_tone_stands(self, heard: Any) -> bool:
        try:
            return await self.reactions.still_stands(heard)
        except SurfaceFailed:
            return False  # taking an approval back is the safe side

    async def _said(self, event_id: str, payload: Payload) -> None:
        heard = said(payload["event"], self._me.user)
        if heard is None:
            return
        user = heard.user or await self._accounts.user_of_bot(heard.bot) or heard.bot
        place = f"{heard.channel}:{heard.thread_ts}"
        sender = await self._sender(user, _team(payload), event_id, place)
        if heard.channel != self._rest.id:
            await self._elsewhere(user, heard.channel, sender)
            return
        await self._commands.mentioned(heard, sender)

    async def _slash(self, event_id: str, body: Mapping[str, Any]) -> None:
        user, team = str(body.get("user_id", "")), str(body.get("team_id", ""))
        sender = await self._sender(user, team, event_id)
        url = str(body.get("response_url", ""))
        if body.get("channel_id") != self._rest.id:
            await self._workflow.note_ignored("", sender, "wrong_place")
            await self._web.respond(url, _ELSEWHERE.format(self._rest.id))
            return
        await self._commands.slash(str(body.get("text", "")), sender, url, user)

    async def _reply(self, event_id: str, payload: Payload) -> None:
        heard = replied(payload["event"])
        if heard is None:
            return
        sender = await self._sender(heard.user, _team(payload), event_id)
        reply = await self._incoming.replied(sender, heard.message_ts, heard.words)
        if reply is not None:
            await self._rest.hint(heard.user, reply.words, heard.message_ts)

    async def _deleted(self, payload: Payload) -> None:
        event = payload["event"]
        ts = event.get("deleted_ts") or (event.get("previous_message") or {}).get("ts")
        if event.get("channel") == self._rest.id and ts:
            self._board.lost()
            await self._incoming.deleted(str(ts))

    async def _button(
        self, event_id: str, asked: Pressed | None, *, said_why: bool = False
    ) -> None:
        if asked is None or (asked.signal is Signal.STOP and not said_why):
            return  # Reject has opened its form; what is sent from there decides
        sender = await self._sender(asked.user, asked.team, event_id)
        reply = await self._incoming.pressed(
            sender,
            asked.message_ts,
            asked.signal,
            asked.reason,
            in_place=asked.channel == self._rest.id,
        )
        await self._hint(asked.user, asked.message_ts, reply)

    # -- who, and what they are told ------------------------------------------------------

    async def _sender(
        self, user: str, team: str, event_id: str, place: str | None = None
    ) -> Sender:
        policy = self._workflow.policy
        return await self._accounts.sender(
            policy, user, team or self._me.team, event_id=event_id, place=place
        )

    async def _hint(self, user: str, message_ts: str, reply: Reply | None) -> None:
        words = hint_of(reply)
        if reply is None or words is None:
            return
        if self._notes.first(user, message_ts, reply.code or ""):
            await self._rest.hint(user, words)

    async def _elsewhere(self, user: str, channel: str, sender: Sender) -> None:
        await self._workflow.note_ignored("", sender, "wrong_place")
        if self._notes.first(user, channel, "wrong_place"):
            other = Rest(self._web, channel, self._workflow.world.clock)
            await other.hint(user, f"Signoff listens in one channel alone: {self._rest.id}")


def _kept(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a command or an interaction must be stored to work it."""
    wanted = (
        *("user_id", "team_id", "channel_id", "text", "response_url", "trigger_id"),
        *("user", "team", "channel", "container", "actions", "view"),
    )
    return {"kind": kind, "body": {key: body[key] for key in wanted if key in body}}


def _payload(kind: str, body: Mapping[str, Any], event_id: str) -> dict[str, Any]:
    event = dict(body.get("event") or {})
    return {"kind": kind, "event": event, "team_id": body.get("team_id"), "event_id": event_id}


def _lane(heard: Said) -> str:
    """A tool that takes its time must not hold up an agent's next proposal."""
    if typed(heard.text).word == "propose":
        return f"p:{heard.ts}"
    return f"c:{heard.user or heard.bot}"


def _team(payload: Payload) -> str:
    """Return the workspace of whoever acted: in a shared channel not the one of the event."""
    event = payload["event"]
    named = event.get("user_team") or event.get("source_team") or event.get("team")
    return str(named or payload.get("team_id") or "")
