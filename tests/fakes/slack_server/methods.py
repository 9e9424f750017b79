"""The Web API methods that talk about messages: post, update, react, read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.fakes.slack_server.faults import SlackError
from tests.fakes.slack_server.limits import check_blocks, check_post, check_update
from tests.fakes.slack_server.workspace import Channel, Message, User, Workspace

Arguments = dict[str, Any]
Method = Callable[[Workspace, Arguments], dict[str, Any]]

#: Method by name, with the scope it needs (None: none).
METHODS: dict[str, tuple[str | None, Method]] = {}


def method(name: str, scope: str | None) -> Callable[[Method], Method]:
    """Register a method under its name."""

    def register(function: Method) -> Method:
        METHODS[name] = (scope, function)
        return function

    return register


def seen(workspace: Workspace, arguments: Arguments) -> Channel:
    """Return the channel a call names."""
    channel = workspace.channels.get(arguments.get("channel", ""))
    if channel is None or channel.hidden:
        raise SlackError("channel_not_found")
    return channel


def channel_of(workspace: Workspace, arguments: Arguments) -> Channel:
    """Return the channel a call names; the bot must be in it."""
    channel = seen(workspace, arguments)
    if not channel.bot_is_member:
        raise SlackError("not_in_channel")
    return channel


def open_channel(workspace: Workspace, arguments: Arguments) -> Channel:
    """Return the channel a call writes to; an archived one can be read alone."""
    channel = channel_of(workspace, arguments)
    if channel.archived:
        raise SlackError("is_archived")
    return channel


def message_of(workspace: Workspace, arguments: Arguments, error: str) -> Message:
    """Return the message a call names."""
    ts = arguments.get("ts") or arguments.get("timestamp") or ""
    message = workspace.find(channel_of(workspace, arguments).id, ts)
    if message is None:
        raise SlackError(error)
    return message


@method("auth.test", None)
def auth_test(workspace: Workspace, _arguments: Arguments) -> dict[str, Any]:
    return {
        "url": "https://shop.slack.example/",
        "team": "shop",
        "team_id": workspace.team,
        "user": "signoff",
        "user_id": workspace.bot_user,
        "bot_id": workspace.bot_id,
    }


@method("chat.postMessage", "chat:write")
def post_message(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    channel = open_channel(workspace, arguments)
    text, blocks = arguments.get("text", ""), arguments.get("blocks") or []
    check_post(text, blocks)
    thread_ts = arguments.get("thread_ts")
    if thread_ts and workspace.find(channel.id, thread_ts) is None:
        raise SlackError("thread_not_found")
    message = Message(
        channel.id,
        workspace.new_ts(),
        workspace.bot_user,
        text[:40_000],
        blocks=blocks,
        metadata=arguments.get("metadata"),
        thread_ts=thread_ts,
        bot_id=workspace.bot_id,
    )
    workspace.messages.append(message)
    return {"channel": channel.id, "ts": message.ts, "message": message.as_json()}


@method("chat.update", "chat:write")
def update(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    if channel_of(workspace, arguments).archived:
        raise SlackError("is_inactive")  # this method has a word of its own for it
    message = message_of(workspace, arguments, "message_not_found")
    if message.user != workspace.bot_user:
        raise SlackError("cant_update_message")
    if workspace.edit_window_closed:
        raise SlackError("edit_window_closed")
    text, blocks = arguments.get("text", ""), arguments.get("blocks")
    check_update(text, blocks or [])
    message.text, message.blocks = text, blocks or []  # text without blocks removes the blocks
    message.edits += 1
    if arguments.get("metadata") is not None:
        message.metadata = arguments["metadata"]
    return {"channel": message.channel, "ts": message.ts, "text": text}


@method("chat.postEphemeral", "chat:write")
def post_ephemeral(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    channel_of(workspace, arguments)
    if arguments.get("user") not in workspace.users:
        raise SlackError("user_not_in_channel")
    check_post(arguments.get("text", ""), arguments.get("blocks") or [])
    workspace.ephemeral.append(arguments)
    return {"message_ts": workspace.new_ts()}


@method("chat.getPermalink", None)
def get_permalink(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    message = workspace.find(arguments.get("channel", ""), arguments.get("message_ts", ""))
    if message is None:
        raise SlackError("message_not_found")
    link = f"https://shop.slack.example/archives/{message.channel}/p{message.ts.replace('.', '')}"
    return {"channel": message.channel, "permalink": link}


@method("reactions.add", "reactions:write")
def add_reaction(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    open_channel(workspace, arguments)
    message = message_of(workspace, arguments, "message_not_found")
    users = message.reactions.setdefault(_plain_name(arguments), [])
    if workspace.bot_user in users:
        raise SlackError("already_reacted")
    users.append(workspace.bot_user)
    return {}


@method("reactions.remove", "reactions:write")
def remove_reaction(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    open_channel(workspace, arguments)
    message = message_of(workspace, arguments, "message_not_found")
    name = _plain_name(arguments)
    users = message.reactions.get(name, [])
    if workspace.bot_user not in users:
        raise SlackError("no_reaction")
    users.remove(workspace.bot_user)
    if not users:
        del message.reactions[name]
    return {}


@method("reactions.get", "reactions:read")
def get_reactions(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    message = message_of(workspace, arguments, "message_not_found")
    full = arguments.get("full") in (True, "true", "1", 1)
    shown = message.as_json(cut=None if full else 2)
    return {"type": "message", "channel": message.channel, "message": shown}


@method("conversations.history", "channels:history")
def history(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    channel = channel_of(workspace, arguments)
    return _page(workspace.top_level(channel.id)[::-1], arguments)


@method("conversations.replies", "channels:history")
def replies(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    channel = channel_of(workspace, arguments)
    found = workspace.replies(channel.id, arguments.get("ts", ""))
    if not found:
        raise SlackError("thread_not_found")
    return _page(found, arguments)


@method("conversations.info", "channels:read")
def info(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    return {"channel": seen(workspace, arguments).as_json()}


@method("users.info", "users:read")
def users_info(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    return {"user": user_of(workspace, arguments).as_json()}


def user_of(workspace: Workspace, arguments: Arguments) -> User:
    """Return the user a call names."""
    user = workspace.users.get(arguments.get("user", ""))
    if user is None:
        raise SlackError("user_not_found")
    return user


@method("bots.info", "users:read")
def bots_info(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    bot_id = arguments.get("bot")
    user = next((each for each in workspace.users.values() if each.bot_id == bot_id), None)
    if user is None:
        raise SlackError("bot_not_found")
    return {"bot": {"id": bot_id, "user_id": user.id, "deleted": user.deleted}}


@method("usergroups.users.list", "usergroups:read")
def usergroup_users(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    users = workspace.usergroups.get(arguments.get("usergroup", ""))
    if users is None:
        raise SlackError("no_such_subteam")
    return {"users": users}


@method("views.open", None)
def open_view(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    view = arguments.get("view") or {}
    if not arguments.get("trigger_id"):
        raise SlackError("invalid_trigger_id")
    if len(view.get("title", {}).get("text", "")) > 24 or len(view["private_metadata"]) > 3000:
        raise SlackError("invalid_arguments")
    check_blocks(view.get("blocks", []))
    stored = view | {"id": f"V{workspace.number()}"}
    workspace.views.append(stored)
    return {"view": stored}


@method("pins.add", "pins:write")
def add_pin(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    open_channel(workspace, arguments)
    message = message_of(workspace, arguments, "message_not_found")
    if message.pinned:
        raise SlackError("already_pinned")
    message.pinned = True
    return {}


@method("pins.remove", "pins:write")
def remove_pin(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    message = message_of(workspace, arguments, "message_not_found")
    if not message.pinned:
        raise SlackError("no_pin")
    message.pinned = False
    return {}


def _plain_name(arguments: Arguments) -> str:
    name = arguments.get("name", "")
    if not name or ":" in name or not name.isascii():
        raise SlackError("invalid_name")
    return str(name)


def _page(found: list[Message], arguments: Arguments) -> dict[str, Any]:
    oldest, latest = float(arguments.get("oldest") or 0), float(arguments.get("latest") or 1e12)
    found = [m for m in found if oldest < float(m.ts) <= latest]
    limit, start = int(arguments.get("limit") or 100), int(arguments.get("cursor") or 0)
    page, more = found[start : start + limit], len(found) > start + limit
    metadata = arguments.get("include_all_metadata") in (True, "true", "1", 1)
    return {
        "messages": [json.loads(json.dumps(m.as_json(cut=2, metadata=metadata))) for m in page],
        "has_more": more,
        "response_metadata": {"next_cursor": str(start + limit) if more else ""},
    }
