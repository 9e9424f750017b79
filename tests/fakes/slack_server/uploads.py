"""Files: upload version 2 in its three steps, and downloads that need the bot's token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tests.fakes.slack_server.faults import SlackError
from tests.fakes.slack_server.methods import Arguments, method
from tests.fakes.slack_server.workspace import Message, StoredFile, Workspace


@method("files.getUploadURLExternal", "files:write")
def upload_url(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    name, length = arguments.get("filename", ""), int(arguments.get("length") or 0)
    if not name or length < 1:
        raise SlackError("invalid_arguments")
    file = StoredFile(f"F{workspace.number()}", name, length)
    workspace.files[file.id] = file
    return {"upload_url": f"{arguments['_base']}/upload/{file.id}", "file_id": file.id}


@method("files.completeUploadExternal", "files:write")
def complete(workspace: Workspace, arguments: Arguments) -> dict[str, Any]:
    files = [workspace.files[each["id"]] for each in arguments.get("files") or []]
    if not files or any(len(file.body) != file.length for file in files):
        raise SlackError("file_not_found")
    shown = [file.as_json(arguments["_base"]) for file in files]
    if channel := arguments.get("channel_id"):
        workspace.messages.append(
            Message(
                channel,
                workspace.new_ts(),
                workspace.bot_user,
                arguments.get("initial_comment") or "",
                thread_ts=arguments.get("thread_ts"),
                bot_id=workspace.bot_id,
                files=shown,
            )
        )
    return {"files": shown}


class FileRoutes:
    """The two addresses outside the Web API."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.downloads: list[str] = []
        #: Where whoever asks for a file is sent on to, by its id.
        self.moved: dict[str, str] = {}
        #: With which statuses the next downloads fail.
        self.failures: Iterator[int] = iter(())

    async def upload(self, request: web.Request) -> web.Response:
        """Take the bytes of an upload, raw or as a form."""
        file = self.workspace.files.get(request.match_info["id"])
        if file is None:
            return web.Response(status=404)
        if request.content_type.startswith("multipart/"):
            part = next(iter((await request.post()).values()))
            assert isinstance(part, web.FileField)
            file.body = part.file.read()
        else:
            file.body = await request.read()
        return web.Response(text=f"OK - {len(file.body)}")

    async def download(self, request: web.Request) -> web.Response:
        """Give the bytes to whoever has the bot's token; anybody else gets the sign-in page."""
        file = self.workspace.files.get(request.match_info["id"])
        self.downloads.append(request.match_info["id"])
        if failure := next(self.failures, None):
            return web.Response(status=failure)
        if place := self.moved.get(request.match_info["id"]):
            raise web.HTTPFound(place)
        if request.headers.get("Authorization") != f"Bearer {self.workspace.bot_token}":
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.body, content_type="application/octet-stream")
