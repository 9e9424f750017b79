"""A service that webhooks are posted to, and a tool that posts there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType

from aiohttp import web

from bot.tools.webhook import WebhookTool
from lifecycle.calls.calling import call_tool
from tests.contracts.tool_contract import call
from tests.fakes.listening import ended

NOW_MS = 1_772_452_800_000
ENVIRONMENT = {"WEBHOOK_SECRET": "whsec_" + "c2VjcmV0" * 4, "PLAIN_SECRET": "just words"}


class OtherSide:
    """A service on loopback: it recognises keys, deploys, rolls back, or answers as it is told."""

    def __init__(self) -> None:
        self.live: dict[str, dict] = {}
        self.heard: list[tuple[dict, bytes]] = []
        self.answer: web.StreamResponse | None = None
        self.act = None

    async def take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.heard.append((dict(request.headers), body))
        if self.act is not None:
            return await self.act(request)
        if self.answer is not None:
            return self.answer
        told = json.loads(body)
        if "version" not in told["parameters"]:
            return web.json_response({"error": "version"}, status=422)
        if told["verb"] == "execute":
            self.live[told["proposal_id"]] = told["parameters"]
        else:
            self.live.pop(told["proposal_id"], None)
        return web.json_response({"deployment": told["proposal_id"]})


@asynccontextmanager
async def serving(side: OtherSide) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/deploy", side.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/deploy"
    await ended(runner)


class WebhookBench:
    parameters = MappingProxyType({"version": "1"})
    failing = MappingProxyType({})

    def __init__(self, url: str, side: OtherSide, **settings) -> None:
        self.side = side
        given = {"url": url, "roll_back": True} | settings
        self.tool = WebhookTool(given, ENVIRONMENT, lambda: NOW_MS)

    def acts(self) -> int:
        return len(self.side.live)

    def staged(self) -> int:
        return 0


async def outcome_of(bench: WebhookBench, **change):
    return await call_tool(bench.tool, call(bench, "execute", **change))
