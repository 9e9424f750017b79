"""Keeps the connection up: slack-bolt over Socket Mode or signed HTTP, under a supervisor.

Twin: `discord/client.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.hearing.hearing import Hearing
from bot.chat.slack.callers import Callers, listening
from bot.chat.slack.calls import FATAL, SlackRefused, SlackWeb, bypassed
from bot.chat.slack.checks import Me
from bot.chat.slack.forms import FormsServer
from bot.chat.slack.left_out import notice
from bot.chat.slack.sdk import Acknowledging, NotTaken, library_log
from bot.chat.slack.signed import only_signed
from bot.chat.surface import SurfaceFailed
from bot.config.models import SlackHttpEntry
from bot.expected import StartFailed
from lifecycle.ports import Clock

log = logging.getLogger("signoff.slack")

_ANYTHING: Final = re.compile(".*")
_PING_S: Final = 10
_CONNECT_S: Final = 20
#: So long Slack's answer to our goodbye is waited for.
_GOODBYE_S: Final = 2
_LOOK_S: Final = 1
#: So many events of a burst are stored at a time, so that the loop stays free. What people do with
#: the bot's own controls does not wait for them: Slack gives it three seconds, and sends it once.
_AT_ONCE: Final = 16
#: After so many looks in a row a connection counts as broken, and not just as being exchanged.
_BROKEN_LOOKS: Final = 2
_ALIVE_S: Final = 30
_LEFT_OUT: Final = "Slack leaves events out, since there are too many"
_LONGEST_PAUSE_S: Final = 60
#: The longest pause that is kept if Slack asks for one.
_LONGEST_ASKED_S: Final = 600.0

#: Takes what came in (event, command, action or view) and its body; returns what the ack says.
Hear = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | str | None]]


@dataclass(frozen=True, slots=True)
class Doors:
    """How events come in: over a socket with an app token, else signed to our address."""

    app_token: str | None
    signing_secret: str | None
    http: SlackHttpEntry

    @property
    def socket(self) -> bool:
        """True if events come over a socket.

        Even a socket that stands does not prove that nothing was missed: Slack gives each event to
        only one of an app's sockets, and a bot that was removed from the channel stays connected.
        """
        return self.app_token is not None


class SlackClient:
    """Keeps the connection up. A broken or deaf one is replaced by a fresh one, with back-off."""

    def __init__(self, web: SlackWeb, doors: Doors, hearing: Hearing, clock: Clock) -> None:
        self._web = web
        self._doors = doors
        self._hearing = hearing
        self._clock = clock
        self._stood = False
        self._not_taken = NotTaken()

    async def run(self, me: Me, hear: Hear) -> None:
        """Hear until cancelled. Raises StartFailed if the first connection can never stand."""
        pause_s = 1
        while True:
            self._stood, asked_s = False, 0.0
            try:
                await self._session(self._app(me, hear))
            except Exception as error:
                self._refused_for_good(error, stood=self._hearing.ever)
                self._hearing.lost(_words(error))
                log.warning("slack: %s", _words(error))
                if isinstance(error, SurfaceFailed):
                    asked_s = min(_LONGEST_ASKED_S, error.retry_after_s or 0.0)
            pause_s = 1 if self._stood else pause_s
            await self._clock.sleep(max(pause_s, asked_s))
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)

    def _began(self) -> None:
        self._stood = True
        self._hearing.began()

    def _refused_for_good(self, error: Exception, *, stood: bool) -> None:
        """Raise StartFailed for a wrong app token or a port in use, unless a connection has
        `stood`: these do not get better by themselves."""
        if stood:
            return
        if isinstance(error, SlackRefused) and error.error in FATAL:
            raise StartFailed(
                f"Slack does not accept the app token ({error.error}). Make an app-level token "
                "(xapp-…) with the scope connections:write and put it into the environment "
                "variable that app_token_env names."
            ) from None
        if isinstance(error, OSError) and self._doors.app_token is None:
            where = f"{self._doors.http.host}:{self._doors.http.port}"
            raise StartFailed(f"Slack's events cannot be taken in at {where}: {error}") from None

    async def _session(self, app: AsyncApp) -> None:
        if self._doors.app_token is not None:
            await self._over_socket(app, self._doors.app_token)
        else:
            await self._over_http(app)

    async def _over_socket(self, app: AsyncApp, app_token: str) -> None:
        url = await self._web.socket_url(app_token)
        handler = Acknowledging(
            app,
            app_token,
            logger=library_log(),
            web_client=self._web.client,
            ping_interval=_PING_S,
        )
        socket = handler.client
        if bypassed(urlsplit(url).hostname or ""):
            socket.proxy = None
        socket.wss_uri = url
        socket.message_listeners.append(self._message)
        try:
            async with asyncio.timeout(_CONNECT_S):
                await handler.connect_async()  # type: ignore[no-untyped-call]
            await self._watched(socket)
        finally:
            await asyncio.shield(_closed(socket))

    async def _watched(self, socket: SocketModeClient) -> None:
        """Return when the connection is deaf or broken, so that a fresh one is made at once.

        The SDK itself looks only every 10 s, and believes a connection that says it stands.
        """
        session, pong, broken = None, socket.last_ping_pong_time, 0
        self._hearing.alive()
        while broken < _BROKEN_LOOKS:
            if await socket.is_connected():
                broken = 0
                if socket.current_session is not session:
                    session = socket.current_session
                    self._began()
            else:
                broken += 1
                self._hearing.lost("the connection broke")
            if socket.last_ping_pong_time != pong:
                pong = socket.last_ping_pong_time
                self._hearing.alive()
            if self._hearing.silent:
                log.warning("slack: connected, but nothing was heard; a fresh connection is made")
                self._hearing.lost("connected, but nothing was heard")
                return
            await self._clock.sleep(_LOOK_S)

    async def _message(self, _socket: object, message: dict[str, Any], _raw: str | None) -> None:
        self._hearing.alive()
        if message.get("type") == "hello":
            self._began()
        elif message.get("type") == "disconnect":
            self._hearing.lost(f"Slack asked to connect anew ({message.get('reason')})")

    async def _over_http(self, app: AsyncApp) -> None:
        entry, callers = self._doors.http, Callers()
        server = FormsServer(port=entry.port, path=entry.path, app=app, host=entry.host)
        signed = only_signed(self._doors.signing_secret or "", callers)
        server.web_app.middlewares.append(signed)
        async with listening(server.web_app, callers, entry.host, entry.port):
            await self._alive()

    async def _alive(self) -> None:
        """Ask Slack every 30 s whether it is there: over HTTP silence says nothing."""
        while True:
            try:
                await self._web.call("auth.test")
                if self._hearing.since_ms is None:
                    self._began()
                self._hearing.alive()
            except Exception as error:
                self._hearing.lost(_words(error))
            await self._clock.sleep(_ALIVE_S)

    def _app(self, me: Me, hear: Hear) -> AsyncApp:
        async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=enterprise_id,
                team_id=team_id,
                bot_user_id=me.user,
                bot_id=me.bot,
                bot_token=self._web.client.token,
            )

        app = AsyncApp(
            name="slack-bolt",  # names its logger; else Bolt reads sources on the loop to find one
            logger=library_log(),
            client=AsyncWebClient(base_url=self._web.client.base_url),
            authorize=authorize,
            signing_secret=self._doors.signing_secret or "",
            process_before_response=True,
            ignoring_self_events_enabled=False,
        )
        notice(app, self._left_out)
        app.error(self._not_taken.failed)
        _listen(app, self._alive_then(hear))
        return app

    def _left_out(self) -> None:
        """Have the cards read now, and once more after the next look at the channel: for a minute
        Slack does not say that it leaves more events out."""
        log.warning("slack: %s", _LEFT_OUT)
        self._hearing.began()
        self._hearing.blinded(_LEFT_OUT)

    def _alive_then(self, hear: Hear) -> Hear:
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def heard(kind: str, body: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
            self._hearing.alive()
            async with at_once if kind == "event" else contextlib.nullcontext():
                said = await hear(kind, body)
            self._not_taken.taken()
            return said

        return heard


def _listen(app: AsyncApp, hear: Hear) -> None:
    """Listen to everything: Slack counts what nobody listens to as a failed delivery."""

    async def event(body: dict[str, Any]) -> None:
        await hear("event", body)

    async def command(body: dict[str, Any], ack: Callable[..., Awaitable[None]]) -> None:
        await ack(await hear("command", body) or "")

    async def action(body: dict[str, Any], ack: Callable[..., Awaitable[None]]) -> None:
        await hear("action", body)
        await ack()

    async def view(body: dict[str, Any], ack: Callable[..., Awaitable[None]]) -> None:
        said = await hear("view", body)
        await ack(**said) if isinstance(said, Mapping) else await ack()

    app.event(_ANYTHING)(event)
    app.command(_ANYTHING)(command)
    app.action(_ANYTHING)(action)
    app.view(_ANYTHING)(view)


async def _closed(socket: SocketModeClient) -> None:
    """Close a connection for good, even if nobody answers the goodbye; never raises for that."""
    try:
        async with asyncio.timeout(_GOODBYE_S):
            await socket.close()  # type: ignore[no-untyped-call]
    except Exception as error:
        log.debug("closing a connection: %s", type(error).__name__)
    finally:
        # The SDK stops at what failed; a second call skips the goodbye and frees the rest.
        await socket.close()  # type: ignore[no-untyped-call]


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, SlackRefused) else f"{type(error).__name__}: {error}"
