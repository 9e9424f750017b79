"""REST: the client's own identity, members, channels, threads, commands, files."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.discord_server.faults import Refused, answer, not_found
from tests.fakes.discord_server.state import BOT, State


class Rest:
    """Everything but messages, reactions and interactions."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.commands: dict[str, list[dict[str, Any]]] = {}
        #: Whether the invitation had the scope applications.commands.
        self.takes_commands = True
        self.threads_made: list[dict[str, Any]] = []

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get("/users/@me", self.me),
            web.get("/users/{user}", self.user),
            web.get("/oauth2/applications/@me", self.application),
            web.get("/applications/@me", self.application),
            web.put("/applications/{app}/commands", self.put_commands),
            web.put("/applications/{app}/guilds/{guild}/commands", self.put_commands),
            web.get("/applications/{app}/guilds/{guild}/commands", self.get_commands),
            web.get("/guilds/{guild}", self.guild),
            web.get("/guilds/{guild}/roles", self.roles),
            web.get("/guilds/{guild}/channels", self.guild_channels),
            web.get("/guilds/{guild}/members/{user}", self.member),
            web.get("/channels/{channel}", self.channel),
            web.post("/users/@me/channels", self.direct),
            web.post("/channels/{channel}/messages/{message}/threads", self.make_thread),
        ]

    async def me(self, request: web.Request) -> web.Response:
        return answer(self.state.users[BOT])

    async def user(self, request: web.Request) -> web.Response:
        user = self.state.users.get(request.match_info["user"])
        if user is None:
            raise not_found(10013, "User")
        return answer(user)

    async def application(self, request: web.Request) -> web.Response:
        return answer(
            {
                **{"id": BOT, "name": "signoff", "icon": None, "description": "", "flags": 0},
                **{"bot_public": False, "bot_require_code_grant": False, "verify_key": "0"},
                **{"summary": "", "owner": self.state.users["1001"], "team": None},
            }
        )

    async def put_commands(self, request: web.Request) -> web.Response:
        guild = request.match_info.get("guild", "")
        if guild and not (self.takes_commands and BOT in self.state.members.get(guild, {})):
            raise Refused(403, 50001, "Missing Access")
        given = await request.json()
        for command in given:
            _check_command(command)
        self.commands[guild] = [
            {
                **{"type": 1, "version": "1", "application_id": BOT, "id": self.state.new_id()},
                **{"default_member_permissions": None, "options": []},
                **command,
                **({"guild_id": guild} if guild else {}),
            }
            for command in given
        ]
        return answer(self.commands[guild])

    async def get_commands(self, request: web.Request) -> web.Response:
        return answer(self.commands.get(request.match_info["guild"], []))

    async def guild(self, request: web.Request) -> web.Response:
        if request.match_info["guild"] not in self.state.members:
            raise not_found(10004, "Guild")
        return answer(self.state.guild_json(request.match_info["guild"]))

    async def roles(self, request: web.Request) -> web.Response:
        return answer(self.state.guild_json(request.match_info["guild"])["roles"])

    async def guild_channels(self, request: web.Request) -> web.Response:
        return answer(self.state.guild_json(request.match_info["guild"])["channels"])

    async def member(self, request: web.Request) -> web.Response:
        members = self.state.members.get(request.match_info["guild"])
        if members is None:
            raise not_found(10004, "Guild")
        found = members.get(request.match_info["user"])
        if found is None:
            raise not_found(10007, "Member")
        return answer(found)

    async def channel(self, request: web.Request) -> web.Response:
        return answer(self.state.channel(request.match_info["channel"]))

    async def direct(self, request: web.Request) -> web.Response:
        body = await request.json()
        user = self.state.users[body["recipient_id"]]
        if user["bot"]:
            raise Refused(400, 50007, "Cannot send messages to this user")
        channel = f"5{user['id']}"
        self.state.add_channel(channel, None, "", recipients=[user])
        return answer(self.state.channels[channel])

    async def make_thread(self, request: web.Request) -> web.Response:
        parent = request.match_info["channel"]
        message = self.state.message(parent, request.match_info["message"])
        body = await request.json()
        guild = self.state.channel(parent).get("guild_id")
        thread = thread_json(message.id, parent)
        self.state.add_channel(message.id, guild, body["name"], **thread)
        self.threads_made.append(self.state.channels[message.id])
        return answer(self.state.channels[message.id], 201)


def thread_json(thread: str, parent: str) -> dict[str, Any]:
    """Return what makes a channel a thread."""
    return {
        **{"id": thread, "type": 11, "parent_id": parent, "owner_id": BOT},
        **{"message_count": 0, "member_count": 1, "rate_limit_per_user": 0, "flags": 0},
        "thread_metadata": {
            **{"archived": False, "auto_archive_duration": 1440, "locked": False},
            "archive_timestamp": "2026-03-02T12:00:00+00:00",
        },
    }


def _check_command(command: dict[str, Any]) -> None:
    name, description = command["name"], command.get("description", "")
    plain = name == name.lower() and 1 <= len(name) <= 32 and " " not in name
    if command.get("type", 1) == 1 and not (plain and 1 <= len(description) <= 100):
        raise Refused(400, 50035, f"Invalid Form Body: {name}")
    for option in command.get("options", []):
        if not 1 <= len(option.get("description", "")) <= 100:
            raise Refused(400, 50035, f"Invalid Form Body: {name}.{option['name']}")
