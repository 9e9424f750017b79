"""Signed callbacks: the outbox's words to agents that have a `callback_url` (Standard Webhooks)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx
from standardwebhooks import Webhook

from bot.intake.http.auth import SURFACE as HTTP
from lifecycle.callbacks import SURFACE
from lifecycle.located import located
from lifecycle.policy import Agent
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Message
from lifecycle.world import World

log = logging.getLogger("signoff.callbacks")

_PAGE: Final = 20
_EVERY_S: Final = 1.0
_TIMEOUT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 60
_SHORTEST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 3_600_000
#: So long nobody knocks at a server that did not answer: there are others to be told.
_SILENCE_MS: Final = 10_000


class Callbacks:
    """Delivers what is due; the store knows it, nothing is remembered here."""

    def __init__(
        self, world: World, environment: Mapping[str, str], client: httpx.AsyncClient | None = None
    ) -> None:
        """Take the secrets from `environment` when they are needed; proxies are never used."""
        self._world = world
        self._environment = environment
        self._client = client
        self._due = asyncio.Event()
        #: Until when an agent's server is left alone, ms UTC.
        self._silent_until_ms: dict[str, int] = {}

    def heard(self) -> None:
        """Look soon."""
        self._due.set()

    async def run(self) -> None:
        """Deliver whatever is due, until cancelled."""
        failures = 0
        try:
            while True:
                try:
                    await self.drain()
                    failures = 0
                except StoreUnavailable:
                    log.error("the store cannot be read or written; callbacks wait")
                    failures += 1
                    # A line a second would drown what the log has to say about it.
                    await asyncio.sleep(min(_LONGEST_WAIT_S, 2 ** min(failures, 10) - 2))
                except Exception as error:
                    log.error("callbacks wait: %s", located(error))
                try:
                    async with asyncio.timeout(_EVERY_S):
                        await self._due.wait()
                except TimeoutError:
                    continue
                finally:
                    self._due.clear()
        finally:
            if self._client is not None:
                await self._client.aclose()

    async def drain(self) -> int:
        """Deliver what is due now; return how much arrived."""
        await self._settle_polled()
        arrived = 0
        while due := await self._waiting(SURFACE):
            arrived += sum(await asyncio.gather(*(self._deliver(each) for each in due)))
        return arrived

    async def _settle_polled(self) -> None:
        """What is meant for an agent of the HTTP door it reads there; nothing is pushed."""
        while due := await self._waiting(HTTP):
            now_ms = self._world.clock.now_ms()
            for message in due:
                await self._delivered(message, now_ms)

    async def _waiting(self, surface: str) -> list[Message]:
        now_ms = self._world.clock.now_ms()
        return list(
            await self._world.store.read(lambda tx: tx.outbox.waiting(surface, now_ms, _PAGE))
        )

    async def _deliver(self, message: Message) -> bool:
        agent = self._world.law.policy.agents.get(message.recipient)
        now_ms = self._world.clock.now_ms()
        if agent is None or agent.callback_url is None:
            await self._delivered(message, now_ms)  # nobody is to be told any more
            return False
        silent_until_ms = self._silent_until_ms.get(agent.id, 0)
        if now_ms < silent_until_ms:
            await self._failed(message, silent_until_ms, "its server did not answer before")
            return False
        try:
            status = await self._post(agent, message, now_ms)
        except _NoAnswer as error:
            why = str(error)
            self._silent_until_ms[agent.id] = self._world.clock.now_ms() + _SILENCE_MS
        else:
            if httpx.codes.is_success(status):
                await self._delivered(message, now_ms)
                return True
            why = f"status {status}"
        log.warning("the callback of %s failed: %s", agent.id, why)
        await self._failed(message, now_ms + _pause_ms(message, now_ms), why)
        return False

    async def _failed(self, message: Message, retry_at_ms: int, why: str) -> None:
        await self._world.store.write(lambda tx: tx.outbox.failed(message.key, retry_at_ms, why))

    async def _delivered(self, message: Message, now_ms: int) -> None:
        await self._world.store.write(lambda tx: tx.outbox.delivered(message.key, now_ms))

    async def _post(self, agent: Agent, message: Message, now_ms: int) -> int:
        """Return the status of the answer; raises _NoAnswer."""
        secret = self._environment.get(agent.callback_secret_env or "", "")
        content = {"type": f"proposal.{message.kind}", "data": dict(message.body)}
        data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        at = datetime.fromtimestamp(now_ms / 1000, UTC)
        try:
            signature = Webhook(secret).sign(message.key, at, data)
        except Exception:
            words = f"{agent.callback_secret_env} holds no secret of Standard Webhooks"
            raise _NoAnswer(words) from None
        headers = {
            "content-type": "application/json",
            "webhook-id": message.key,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
        try:
            # The answer's body says nothing to us, and may come for as long as its server likes.
            async with (
                asyncio.timeout(_TIMEOUT_S),
                self._outwards().stream(
                    "POST", str(agent.callback_url), content=data.encode(), headers=headers
                ) as answer,
            ):
                return answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # UnicodeError of a host's name among them
            raise _NoAnswer(type(error).__name__) from None

    def _outwards(self) -> httpx.AsyncClient:
        """Return the client, made when there is something to tell."""
        if self._client is None:
            # What one server sets would go to another agent's on the same host, and more each time.
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            self._client = httpx.AsyncClient(
                timeout=_TIMEOUT_S, follow_redirects=False, trust_env=False, cookies=no_cookies
            )
        return self._client


class _NoAnswer(Exception):
    """The message did not reach anybody who answers; says why."""


def _pause_ms(message: Message, now_ms: int) -> int:
    """Return how long to wait before trying again: as long as it has been tried already."""
    return min(_LONGEST_PAUSE_MS, max(_SHORTEST_PAUSE_MS, now_ms - message.created_at_ms))
