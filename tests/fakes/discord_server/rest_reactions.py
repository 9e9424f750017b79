"""REST: reactions, and how others add and take theirs."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.discord_server.faults import Refused, answer
from tests.fakes.discord_server.rest_messages import Tell
from tests.fakes.discord_server.state import BOT, BURST, NORMAL, Message, State, emoji_json

_HISTORY, _REACT, _MANAGE, _VIEW = 16, 6, 13, 10


class Reactions:
    """What stands under messages."""

    def __init__(self, state: State, tell: Tell) -> None:
        self.state = state
        self.tell = tell
        self.knows_types = True

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        message = "/channels/{channel}/messages/{message}/reactions"
        emoji = message + "/{emoji}"
        return [
            web.delete(message, self.clear),
            web.get(emoji, self.reactors),
            web.delete(emoji, self.clear_emoji),
            web.put(emoji + "/@me", self.react),
            web.delete(emoji + "/{user}", self.unreact),
        ]

    async def react(self, request: web.Request) -> web.Response:
        self.state.may(_VIEW, _HISTORY, _REACT)
        emoji = request.match_info["emoji"]
        if emoji.startswith(":"):
            raise Refused(400, 10014, "Unknown Emoji")
        self.add_reaction(request.match_info["channel"], self._message(request), BOT, emoji)
        return web.Response(status=204)

    def add_reaction(
        self,
        channel: str,
        message: Message,
        user: str,
        emoji: str,
        kind: int = NORMAL,
        **lacks: Any,
    ) -> None:
        """Add a reaction and tell; adding it twice changes nothing and tells nobody."""
        if emoji not in message.reactions and len(message.reactions) >= 20:
            raise Refused(400, 30010, "Maximum number of reactions reached (20)")
        users = message.reactions.setdefault(emoji, ([], []))[kind]
        if user in users:
            return
        users.append(user)
        event = self._reaction_event(channel, message, user, emoji, kind)
        guild = self.state.channel(channel).get("guild_id")
        member = self.state.members.get(guild or "", {}).get(user)
        if member is not None:
            event["member"] = member
        event["message_author_id"] = message.data["author"]["id"]
        self.tell("MESSAGE_REACTION_ADD", event | lacks)

    async def unreact(self, request: web.Request) -> web.Response:
        user, emoji = request.match_info["user"], request.match_info["emoji"]
        if user != "@me":
            self.state.may(_MANAGE)
        who = BOT if user == "@me" else user
        message = self._message(request)
        if who not in message.who(emoji):
            raise Refused(404, 10014, "Unknown Emoji")
        self.take_reaction(request.match_info["channel"], message, who, emoji)
        return web.Response(status=204)

    def take_reaction(
        self, channel: str, message: Message, user: str, emoji: str, kind: int = NORMAL
    ) -> None:
        """Take a reaction off and tell; the event has no member in it."""
        message.reactions[emoji][kind].remove(user)
        self.tell(
            "MESSAGE_REACTION_REMOVE", self._reaction_event(channel, message, user, emoji, kind)
        )

    def _reaction_event(
        self, channel: str, message: Message, user: str, emoji: str, kind: int
    ) -> dict[str, Any]:
        guild = self.state.channel(channel).get("guild_id")
        return {
            **{"user_id": user, "channel_id": channel, "message_id": message.id},
            **{"emoji": emoji_json(emoji), "type": kind, "burst": kind == BURST},
            **({"guild_id": guild} if guild else {}),
        }

    async def reactors(self, request: web.Request) -> web.Response:
        self.state.may(_VIEW, _HISTORY)
        kind = int(request.query.get("type", NORMAL)) if self.knows_types else NORMAL
        users = sorted(self._message(request).who(request.match_info["emoji"], kind), key=int)
        after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 25))
        page = [user for user in users if int(user) > after][: min(limit, 100)]
        return answer([self.state.users[user] for user in page])

    async def clear(self, request: web.Request) -> web.Response:
        self.state.may(_MANAGE)
        self.clear_reactions(request.match_info["channel"], self._message(request))
        return web.Response(status=204)

    async def clear_emoji(self, request: web.Request) -> web.Response:
        self.state.may(_MANAGE)
        message, emoji = self._message(request), request.match_info["emoji"]
        self.clear_reactions(request.match_info["channel"], message, emoji)
        return web.Response(status=204)

    def clear_reactions(self, channel: str, message: Message, emoji: str | None = None) -> None:
        """Clear all reactions, or those of one emoji, and tell."""
        guild = self.state.channel(channel).get("guild_id")
        about = {"channel_id": channel, "message_id": message.id, "guild_id": guild}
        if emoji is None:
            message.reactions.clear()
            self.tell("MESSAGE_REACTION_REMOVE_ALL", about)
        else:
            message.reactions.pop(emoji, None)
            self.tell("MESSAGE_REACTION_REMOVE_EMOJI", about | {"emoji": emoji_json(emoji)})

    def _message(self, request: web.Request) -> Message:
        return self.state.message(request.match_info["channel"], request.match_info["message"])
