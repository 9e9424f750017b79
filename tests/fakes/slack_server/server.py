"""The server: one loopback port with the Web API, Socket Mode, files and response addresses."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from aiohttp import web

from bot.clocks.clock import SystemClock
from tests.fakes.listening import ended
from tests.fakes.slack_server import uploads
from tests.fakes.slack_server.faults import Fault, RateLimited, SlackError
from tests.fakes.slack_server.methods import METHODS
from tests.fakes.slack_server.sockets import Sockets
from tests.fakes.slack_server.stage import Stage
from tests.fakes.slack_server.workspace import Workspace, the_workspace

_WALL = SystemClock()


@dataclass(frozen=True)
class Called:
    """One call of the Web API as it came in; `failed` names the fault it met."""

    method: str
    arguments: dict[str, Any]
    at_s: float
    failed: str | None = None


class SlackServer(Stage):
    """A workspace behind the Slack protocol, and the people in it (see Stage)."""

    def __init__(self, now_ms: Callable[[], int] = _WALL.now_ms) -> None:
        self.workspace: Workspace = the_workspace(now_ms)
        self.sockets = Sockets()
        self.calls: list[Called] = []
        self.faults: list[Fault] = []
        self.responses: list[dict[str, Any]] = []
        #: False: the addresses that commands are answered at have expired.
        self.answers_commands = True
        self.held: dict[str, asyncio.Event] = {}
        self.waits: list[Called] = []
        self.files = uploads.FileRoutes(self.workspace)
        self._runner: web.AppRunner | None = None
        self._ended = asyncio.Event()
        self.port = 0

    @property
    def base(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_base(self) -> str:
        """What `chat.slack.api_base` is set to."""
        return f"{self.base}/api/"

    async def start(self) -> None:
        """Listen on a free port, or on the former one after a stop."""
        self._ended = asyncio.Event()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/socket", self.sockets.serve)
        app.router.add_post("/upload/{id}", self.files.upload)
        app.router.add_get("/files/{id}", self.files.download)
        app.router.add_get("/files/{id}/download", self.files.download)
        app.router.add_post("/response/{id}", self._response)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close everything; what the workspace holds stays."""
        self._ended.set()
        for event in self.held.values():
            event.set()
        await self.sockets.close()
        if self._runner is not None:
            await ended(self._runner)
            self._runner = None

    async def __aenter__(self) -> SlackServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def socket_url(self) -> str:
        """Return an address at which one socket can be opened, once."""
        return f"ws://127.0.0.1:{self.port}/socket?ticket={self.sockets.ticket()}&app_id=A1"

    def fails(self, method: str, kind: Any = "error", **how: Any) -> Fault:
        """Script a fault."""
        fault = Fault(method, kind, **how)
        self.faults.append(fault)
        return fault

    def hold(self, method: str) -> None:
        """Let calls of a method wait until `release`."""
        self.held[method] = asyncio.Event()

    def release(self, method: str) -> None:
        """Let the calls go on."""
        self.held.pop(method).set()

    def waiting(self, method: str) -> list[Called]:
        """Return the calls that were held."""
        return [call for call in self.waits if call.method == method]

    def calls_of(self, method: str, *, done: bool = False) -> list[Called]:
        """Return the calls of one method, `done` those that were answered well alone."""
        found = [call for call in self.calls if call.method == method]
        return [call for call in found if call.failed is None] if done else found

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        if method in self.held:
            self.waits.append(Called(method, arguments, time.monotonic()))
            await self.held[method].wait()
        fault = next((each for each in self.faults if each.hits(method, arguments)), None)
        failed = fault.kind if fault else None
        self.calls.append(Called(method, arguments, time.monotonic(), failed))
        if failed in ("dropped", "hangs"):
            return await self._unanswered(request, at_once=failed == "dropped")
        try:
            body = self._faulty(fault) or self._answer(request, method, arguments)
        except RateLimited as limit:
            return self._json(
                {"ok": False, "error": "ratelimited"},
                429,
                {"Retry-After": str(limit.retry_after_s)},
            )
        except SlackError as error:
            body = error.body
        if failed in ("lost_answer", "unanswered"):
            return await self._unanswered(request, at_once=failed == "lost_answer")
        if fault is not None and fault.kind == "status":
            return web.Response(status=fault.status, text="upstream error")
        if fault is not None and fault.kind == "vague":
            body = {"ok": True, **fault.says}
        return self._json(body, 200, {"x-oauth-scopes": ",".join(self.workspace.scopes)})

    def _json(self, body: dict[str, Any], status: int, headers: dict[str, str]) -> web.Response:
        dated = {"Date": formatdate(self.workspace.now_ms() // 1000, usegmt=True)}
        return web.json_response(body, status=status, headers=dated | headers)

    async def _unanswered(self, request: web.Request, *, at_once: bool) -> web.StreamResponse:
        if not at_once:
            await self._ended.wait()
        return _hung_up(request)

    def _faulty(self, fault: Fault | None) -> dict[str, Any] | None:
        if fault is not None and fault.kind == "ratelimited":
            raise RateLimited(fault.retry_after_s)
        if fault is not None and fault.kind == "error":
            needed = {"needed": fault.needed, "provided": "chat:write"} if fault.needed else {}
            raise SlackError(fault.error, **needed)
        return {"ok": False} if fault is not None and fault.kind == "status" else None

    def _answer(
        self, request: web.Request, method: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if method == "apps.connections.open":
            if token != self.workspace.app_token:
                raise SlackError("invalid_auth")
            return {"ok": True, "url": self.socket_url()}
        if token != self.workspace.bot_token:
            raise SlackError("invalid_auth")
        found = METHODS.get(method)
        if found is None:
            raise SlackError("unknown_method")
        scope, function = found
        if scope is not None and scope not in self.workspace.scopes:
            raise SlackError(
                "missing_scope", needed=scope, provided=",".join(self.workspace.scopes)
            )
        return {"ok": True} | function(self.workspace, arguments | {"_base": self.base})

    async def _response(self, request: web.Request) -> web.Response:
        if not self.answers_commands:
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        self.responses.append(await request.json())
        return web.Response(text="ok")


async def _arguments(request: web.Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        found |= await request.json()
    else:
        found |= dict((await request.post()).items())
    for key in ("blocks", "metadata", "files", "view"):
        if isinstance(found.get(key), str):
            found[key] = json.loads(found[key])
    return found


def _hung_up(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
