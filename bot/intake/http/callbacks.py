"""Send signed callbacks: outbox messages to agents with a `callback_url` (Standard Webhooks)."""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio import FIRST_COMPLETED
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx
from standardwebhooks import Webhook

from bot.intake.http.auth import SURFACE as HTTP
from bot.process.cancelling import being_cancelled
from lifecycle.callbacks import SURFACE
from lifecycle.located import located
from lifecycle.policy import Agent
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.records import Message
from lifecycle.world import World

log = logging.getLogger("signoff.callbacks")

#: So many messages are on their way to one agent at a time.
_AT_ONCE: Final = 20
#: To so many agents at a time; each connection takes a file of those that the bot may open.
_MOST_LINES: Final = 16
#: Messages read together; those for a server that is left alone are put off in one unit.
_LOOKED_AT: Final = 200
_EVERY_S: Final = 1.0
_TIMEOUT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 60
_SHORTEST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 3_600_000
#: How long a server that did not answer is left alone, at first and at most. Other agents are to be
#: told, too, and messages to a server that is down for weeks are put off each time it is over.
_SILENCE_MS: Final = 10_000
_LONGEST_SILENCE_MS: Final = 300_000
#: After this many refusals in a row a server counts as one that does not answer.
_MOST_REFUSED: Final = 20
#: How a library says that there is no answer, UnicodeError of a host's name among them.
_NO_ANSWER: Final = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError)
#: Each line has few connections. Silent servers could keep those of one pool from others.
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=20)


@dataclass(slots=True)
class _Server:
    """How an agent's server has answered. Times are in ms UTC."""

    silent_until_ms: int = 0
    pause_ms: int = 0
    failures: int = 0

    def well(self) -> None:
        """Note that it took a message."""
        self.silent_until_ms = self.pause_ms = self.failures = 0

    def failed(self, began_ms: int, now_ms: int, *, answered: bool) -> None:
        """Note that it did not take a message begun at `began_ms`.

        It is left alone for a while, longer each time in a row.
        """
        self.failures += 1
        noted = began_ms < self.silent_until_ms  # another message of the same round did
        if not noted and (not answered or self.failures >= _MOST_REFUSED):
            self.pause_ms = min(_LONGEST_SILENCE_MS, max(_SILENCE_MS, 2 * self.pause_ms))
            self.silent_until_ms = now_ms + self.pause_ms


class Callbacks:
    """Delivers the messages that are due: the store knows them.

    All that is remembered here is how the servers of agents have answered.
    """

    def __init__(self, world: World, environment: Mapping[str, str]) -> None:
        """Take the secrets from `environment` when they are needed; proxies are never used."""
        self._world = world
        self._environment = environment
        self._client: httpx.AsyncClient | None = None
        self._due = asyncio.Event()
        #: By agent.
        self._servers: defaultdict[str, _Server] = defaultdict(_Server)

    def heard(self) -> None:
        """Look for messages soon."""
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

    async def drain(self) -> None:
        """Deliver what is due now, in a line for each agent.

        No agent waits for the server of another. After what goes wrong in a line no other begins,
        and it is raised once all have ended: the next round must not wait for a busy agent.
        """
        lines: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                await self._settle_polled()
                lines = {whose: each for whose, each in lines.items() if not _went_well(each)}
                most = 0 if any(line.done() for line in lines.values()) else _MOST_LINES
                while len(lines) < most and (due := await self._by_agent(but=lines)):
                    for whose in [*due][: most - len(lines)]:
                        lines[whose] = asyncio.create_task(self._line(due[whose]))
                under_way = [line for line in lines.values() if not line.done()]
                if under_way:
                    await asyncio.wait(under_way, timeout=_EVERY_S, return_when=FIRST_COMPLETED)
                elif not any(map(_went_well, lines.values())):
                    break  # a line that ended just now may have more to deliver
            for line in lines.values():
                line.result()  # raises what went wrong in it
        finally:
            for line in lines.values():
                line.cancel()
            await asyncio.gather(*lines.values(), return_exceptions=True)

    async def _by_agent(self, but: Collection[str]) -> Mapping[str, Sequence[Message]]:
        """Return what is to be delivered now, by agent, to all `but` some; at most `_AT_ONCE` each.

        What is for a server that is left alone is put off.
        """
        while waiting := await self._waiting(SURFACE, *but):
            now_ms = self._world.clock.now_ms()
            until_ms = {each.key: self._silent_until_ms(each) for each in waiting}
            await self._put_off({key: at_ms for key, at_ms in until_ms.items() if at_ms > now_ms})
            due: defaultdict[str, list[Message]] = defaultdict(list)
            for each in waiting:
                if until_ms[each.key] <= now_ms and len(due[each.recipient]) < _AT_ONCE:
                    due[each.recipient].append(each)
            if found := {whose: listed for whose, listed in due.items() if listed}:
                return found
        return {}

    async def _line(self, messages: Sequence[Message]) -> None:
        """Deliver messages to one agent."""
        await asyncio.gather(*map(self._deliver, messages))

    def _silent_until_ms(self, message: Message) -> int:
        """Return until when the server of its agent is left alone, 0 if it is not."""
        agent = self._world.law.policy.agents.get(message.recipient)
        called = agent is not None and agent.callback_url is not None
        return self._servers[message.recipient].silent_until_ms if called else 0

    async def _put_off(self, until_ms: Mapping[str, int]) -> None:
        """Put off messages, by key, until these times.

        It is one unit for all of them, or one for each if a single row is at fault.
        """
        if not until_ms:
            return
        try:
            await self._world.store.write(partial(_put_off, until_ms))
        except RowAtFault:
            alone = (partial(_put_off, {key: at_ms}) for key, at_ms in until_ms.items())
            await asyncio.gather(*map(self._world.store.write, alone))

    async def _settle_polled(self) -> None:
        """Count messages to agents of the HTTP door as delivered; they read there."""
        while due := await self._waiting(HTTP):
            now_ms = self._world.clock.now_ms()
            for message in due:
                await self._delivered(message, now_ms)

    async def _waiting(self, surface: str, *but: str) -> list[Message]:
        page = surface, self._world.clock.now_ms(), _LOOKED_AT
        return list(await self._world.store.read(lambda tx: tx.outbox.waiting(*page, *but)))

    async def _deliver(self, message: Message) -> None:
        agent = self._world.law.policy.agents.get(message.recipient)
        now_ms = self._world.clock.now_ms()
        if agent is None or agent.callback_url is None:
            await self._delivered(message, now_ms)  # there is nobody to tell any more
            return
        server, answered = self._servers[agent.id], False
        try:
            status = await self._post(agent, message, now_ms)
        except _NoAnswer as error:
            why = str(error)
        else:
            if httpx.codes.is_success(status):
                server.well()
                await self._delivered(message, now_ms)
                return
            why, answered = f"status {status}", True
        server.failed(now_ms, self._world.clock.now_ms(), answered=answered)
        log.warning("the callback of %s failed: %s", agent.id, why)
        await self._failed(message, now_ms + _pause_ms(message, now_ms), why)

    async def _failed(self, message: Message, retry_at_ms: int, why: str) -> None:
        await self._world.store.write(lambda tx: tx.outbox.failed(message.key, retry_at_ms, why))

    async def _delivered(self, message: Message, now_ms: int) -> None:
        await self._world.store.write(lambda tx: tx.outbox.delivered(message.key, now_ms))

    async def _post(self, agent: Agent, message: Message, now_ms: int) -> int:
        """Return the status of the answer. Raises _NoAnswer."""
        secret = self._environment.get(agent.callback_secret_env or "", "")
        content = {"type": f"proposal.{message.kind}", "data": dict(message.body)}
        data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        at, news = datetime.fromtimestamp(now_ms / 1000, UTC), _news_of(message, data)
        try:
            signature = Webhook(secret).sign(news, at, data)
        except Exception:
            words = f"{agent.callback_secret_env} holds no secret of Standard Webhooks"
            raise _NoAnswer(words) from None
        headers = {
            "content-type": "application/json",
            "webhook-id": news,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
        try:
            # The body of the answer means nothing here, and its server could send it for ever.
            async with (
                asyncio.timeout(_TIMEOUT_S),
                self._outwards().stream(
                    "POST", str(agent.callback_url), content=data.encode(), headers=headers
                ) as answer,
            ):
                return answer.status_code
        except (*_NO_ANSWER, asyncio.CancelledError) as error:
            if being_cancelled():
                raise
            raise _NoAnswer(type(error).__name__) from None

    def _outwards(self) -> httpx.AsyncClient:
        """Return the client; it is made when there is something to tell."""
        if self._client is None:
            # A cookie of one agent's server would go to another's on the same host, and add up.
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            self._client = httpx.AsyncClient(
                timeout=_TIMEOUT_S,
                follow_redirects=False,
                trust_env=False,
                cookies=no_cookies,
                limits=_LIMITS,
            )
        return self._client


def _went_well(line: asyncio.Task[None]) -> bool:
    return line.done() and line.exception() is None


def _news_of(message: Message, data: str) -> str:
    """Return the id of this message.

    The key is not enough: with another database, or after a restore, it may come again and tell
    something else.
    """
    return f"{message.key}:{sha256(data.encode()).hexdigest()[:16]}"


class _NoAnswer(Exception):
    """Nobody answered the message; the words say why."""


def _put_off(until_ms: Mapping[str, int], tx: Transaction) -> None:
    for key, at_ms in until_ms.items():
        tx.outbox.failed(key, at_ms, "its server did not answer before")


def _pause_ms(message: Message, now_ms: int) -> int:
    """Return how long to wait before the next try: as long as it has been tried already."""
    return min(_LONGEST_PAUSE_MS, max(_SHORTEST_PAUSE_MS, now_ms - message.created_at_ms))
