"""Slack over a room in memory: all that hears is the real thing, but for the calls to Slack."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from bot.chat.cards.content import CardContent
from bot.chat.hearing.reading import Reading
from bot.chat.hearing.signals import SEEDS, Signal
from bot.chat.slack.calls import SlackRefused
from bot.chat.slack.checks import Me
from bot.chat.slack.desk import Desk
from bot.chat.slack.listening import Listening
from bot.chat.slack.notifier import SlackSurface
from bot.chat.slack.render import APPROVE
from bot.chat.slack.settings import SlackSettings
from bot.chat.slack.views import CALLBACK
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from bot.config.models import SlackEntry
from lifecycle.ports import StoreUnavailable
from tests.stories.any_rooms import Room

CHANNEL, ME, TEAM = "C0001", "UBOT", "T1"


class SlackIn(SlackSurface):
    """The surface in a room."""

    def __init__(self, room: Room, clock: Any) -> None:
        entry = SlackEntry(bot_token_env="SLACK", channel=CHANNEL)
        super().__init__(SlackSettings(entry, "xoxb"))
        self.room, self.clock = room, clock

    async def begins(self, commands: Any, delivery: Any) -> None:
        desk = self.desk = Desk(self.settings, commands.workflow)
        desk.web.call = self._call  # type: ignore[method-assign]
        desk.web.respond = self._respond  # type: ignore[method-assign]
        me = desk.me = Me(TEAM, ME, "BBOT")
        desk.rest.me = me.user
        listening = self.listening = Listening(desk, me, commands, delivery)
        self._reading = Reading(
            *(commands.workflow, "slack", desk.hearing, listening.reactions.read),
            lambda: listening.inbox.quiet,
            continuous=False,
            at_once=3,
        )
        self._ready.set()
        await listening.inbox.resume()

    @property
    def hearing(self) -> Any:
        return self.desk.hearing if self.desk else None

    def connects(self) -> None:
        self.hearing.began()

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        made, late = await self.room.post(
            content.proposal_id, claim, self.clock.now_ms(), content.version
        )
        if late:
            self._found_again(made)
        return Posted(made)

    async def edit_card(self, content: CardContent, card: Any) -> Posted:
        await self.room.edit(card.message_ids[-1], content.version)
        return Posted(card.message_ids[-1])

    async def say(self, message: Any) -> str | None:
        await self.room.asked()
        self.room.permits += [message.body["permit"]] if message.kind == "permit" else []
        return None

    async def _respond(self, url: str, words: str) -> bool:
        return True

    async def _call(self, method: str, **given: Any) -> dict[str, Any]:
        match method:
            case "reactions.get":
                return {"ok": True, "message": await self._message(str(given["timestamp"]))}
            case "users.info":
                await self.room.asked()
                who = self.room.person(f"{TEAM}/{given['user']}")
                if self.room.unsaid:
                    raise SurfaceFailed("Slack does not say")
                return {
                    "user": {"id": given["user"], "team_id": TEAM, "deleted": who in self.room.gone}
                }
            case _:
                await self.room.asked()
                return {"ok": True, "ts": f"1.{self.room.number():06d}", "messages": []}

    async def _message(self, ts: str) -> dict[str, Any]:
        try:
            found = await self.room.under(ts)
        except CardGone:
            raise SlackRefused("reactions.get", "message_not_found") from None
        reactions = []
        for signal in SEEDS:
            users = [ME, *sorted(map(self._user, found[signal.name]))]
            reactions.append({"name": signal.slack_name, "users": users, "count": len(users)})
        return {"ts": ts, "user": ME, "reactions": reactions}

    def _user(self, person: str) -> str:
        return self.room.account(person).partition("/")[2]

    # -- what people do ---------------------------------------------------------------------

    def _brings(self, kind: str, body: dict[str, Any]) -> Callable[[], Awaitable[None]]:
        """Return what Slack does until it is acknowledged."""

        async def brought() -> None:
            if self.room.line != "up" or self.desk is None or self.listening is None:
                self.room.again.append(self._again(kind, body))
                return
            self.hearing.alive()
            try:
                await self.listening.hear(kind, body)
            except (StoreUnavailable, SurfaceFailed):
                if kind == "event":
                    self.room.again.append(self._again(kind, body))

        return brought

    def _again(self, kind: str, body: dict[str, Any]) -> Any:
        return lambda surface: surface._brings(kind, body)()

    def _event(self, event: dict[str, Any]) -> Callable[[], Awaitable[None]]:
        now_ms = self.clock.now_ms()
        event["event_ts"] = f"{now_ms // 1000}.{now_ms % 1000:03d}{self.room.number():03d}"
        body = {"event_id": f"Ev{self.room.number()}", "team_id": TEAM, "event": event}
        return self._brings("event", json.loads(json.dumps(body)))

    def reaction(self, message_id: str, person: str, signal: Signal, *, added: bool) -> Any:
        return self._event(
            {
                "type": "reaction_added" if added else "reaction_removed",
                "user": self._user(person),
                "reaction": signal.slack_name,
                "item": {"type": "message", "channel": CHANNEL, "ts": message_id},
                "item_user": ME,
            }
        )

    def typed(self, person: str, text: str) -> Any:
        now_s, number = self.clock.now_ms() // 1000, self.room.number()
        return self._event(
            {
                "type": "app_mention",
                "user": self._user(person),
                "text": f"<@{ME}> {text}",
                "channel": CHANNEL,
                "ts": f"{now_s}.{number:06d}",
            }
        )

    def replied(self, person: str, message_id: str, words: str) -> Any:
        now_s, number = self.clock.now_ms() // 1000, self.room.number()
        return self._event(
            {
                "type": "message",
                "user": self._user(person),
                "text": words,
                "channel": CHANNEL,
                "thread_ts": message_id,
                "ts": f"{now_s}.{number:06d}",
            }
        )

    def deleted(self, message_id: str) -> Any:
        return self._event(
            {
                "type": "message",
                "subtype": "message_deleted",
                "channel": CHANNEL,
                "deleted_ts": message_id,
                "ts": f"{message_id}9",
            }
        )

    def pressed(self, message_id: str, person: str, signal: Signal, reason: str) -> Any:
        user = {"id": self._user(person), "team_id": TEAM}
        number = self.room.number()
        if signal is Signal.APPROVE:
            body = {
                "user": user,
                "trigger_id": f"t{number}",
                "actions": [{"action_id": APPROVE, "action_ts": f"{number}"}],
                "channel": {"id": CHANNEL},
                "container": {"message_ts": message_id, "channel_id": CHANNEL},
            }
            return self._brings("action", body)
        where = json.dumps({"channel": CHANNEL, "message_ts": message_id})
        state = {"values": {"reason": {"reason_text": {"value": reason or "so"}}}}
        view = {"id": f"V{number}", "callback_id": CALLBACK, "private_metadata": where}
        return self._brings("view", {"user": user, "view": {**view, "state": state}})
