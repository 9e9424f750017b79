"""The connection: slack-bolt over Socket Mode or signed HTTP, under a supervisor."""

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
#: So long Slack may take to answer that we leave; then we leave without.
_GOODBYE_S: Final = 2
_LOOK_S: Final = 1
#: Of a burst so many events are stored together, and the loop stays free. What people do with the
#: bot's own controls waits for none of them: Slack gives it three seconds, and sends it once.
_AT_ONCE: Final = 16
#: So many looks in a row, and a connection is broken and not just being exchanged.
_BROKEN_LOOKS: Final = 2
_ALIVE_S: Final = 30
_LEFT_OUT: Final = "Slack leaves events out, since there are too many"
_LONGEST_PAUSE_S: Final = 60
#: So long at most a pause that Slack asks for is kept to.
_LONGEST_ASKED_S: Final = 600.0

#: What came in (event, command, action, view) and its body; returns what the ack says.
Hear = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | str | None]]


@dataclass(frozen=True, slots=True)
class Doors:
    """How events come in: with an app token over a socket, else signed to an address of ours."""

    app_token: str | None
    signing_secret: str | None
    http: SlackHttpEntry

    @property
    def socket(self) -> bool:
        """True where events come over a socket.

        Not even that proves that nothing was missed: Slack gives each event to one of an app's
        sockets, and a bot that was put out of the channel stays connected.
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
        """Hear until cancelled. Raises StartFailed where the first connection cannot ever stand."""
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
        """A wrong app token and a port in use will not get better: say so and end."""
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

        The SDK itself looks every 10 s alone, and believes a connection that says it stands.
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
        server = app.server(port=entry.port, path=entry.path, host=entry.host)
        signed = only_signed(self._doors.signing_secret or "", callers)
        server.web_app.middlewares.append(signed)
        async with listening(server.web_app, callers, entry.host, entry.port):
            await self._alive()

    async def _alive(self) -> None:
        """Over HTTP silence says nothing: ask Slack itself whether it is there."""
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
            name="slack-bolt",  # of a logger; else it reads every source to find one, on the loop
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
        """Read the cards now, and once more when the channel is looked at next: of what is left out
        from here on Slack says nothing before a minute has passed."""
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
    """Everything is heard: what nobody listens to counts as a failed delivery at Slack."""

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
    """Close a connection for good, also where nobody answers the goodbye; never raises for it."""
    try:
        async with asyncio.timeout(_GOODBYE_S):
            await socket.close()  # type: ignore[no-untyped-call]
    except Exception as error:
        log.debug("closing a connection: %s", type(error).__name__)
    finally:
        # The SDK stops at what failed; asked again, it skips the goodbye and frees the rest.
        await socket.close()  # type: ignore[no-untyped-call]


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, SlackRefused) else f"{type(error).__name__}: {error}"
