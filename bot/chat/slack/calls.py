"""Calls Slack's Web API: one queue for each method, rate limits waited for, failures told apart.

Twin: `discord/calls.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from bot.chat.cards.spans import moment_words
from bot.chat.slack.clocks import SlackClock
from bot.chat.slack.fetching import fetched
from bot.chat.slack.shapes import readable
from bot.chat.surface import SurfaceFailed
from bot.chat.turns import Turns
from bot.process.cancelling import being_cancelled
from lifecycle.ports import Clock
from lifecycle.records import LONGEST_WAIT_MS

#: A call waits for a rate limit at most so often, and so long each time; then it fails. During a
#: longer one no call of its method is made.
_MOST_WAITS: Final = 12
LONGEST_WAIT_S: Final = 60
_TIMEOUT_S: Final = 10
#: So long an answer is waited for when the bot ends.
_LAST_S: Final = 1
#: Slack's codes for a token that is of no use any more.
FATAL: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"}
)
#: Codes of Slack's own trouble with any method; what was asked for may have been done.
_PASSING: Final = frozenset(
    {
        *("", "internal_error", "fatal_error", "request_timeout", "service_unavailable"),
        *("update_failed", "team_added_to_org", "org_login_required", "external_channel_migrating"),
    }
)
#: Slack has two codes for a rate limit; the second one says that too much is posted.
_LIMITED: Final = frozenset({"ratelimited", "rate_limited"})
#: No answer, or one of a proxy's that makes the SDK stumble (a page, no object).
_NO_ANSWER: Final = (
    *(aiohttp.ClientError, TimeoutError, OSError, SlackClientError),
    *(AttributeError, KeyError, TypeError, ValueError),
)
#: Codes about the app. Once it is mended, what they refused is told.
_OF_THE_APP: Final = FATAL | {"missing_scope"}
_LASTING: Final = _OF_THE_APP | {
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "is_inactive",
    "restricted_action",
    "cant_update_message",
}


class SlackRefused(SurfaceFailed):
    """Slack answered `ok: false`: nothing was done. `error` is Slack's code, `of_the_app` says that
    it is about the token and its scopes, and not about what was asked."""

    def __init__(self, method: str, error: str, needed: str = "") -> None:
        words = f"Slack refused {method}: {error}"
        if needed:
            words += f"; add the scope {needed} to the app and install it again"
        super().__init__(words, lasting=error in _LASTING)
        self.error = error
        self.of_the_app = error in _OF_THE_APP


class AnswerLost(SurfaceFailed):
    """Nobody knows whether Slack acted: look for the result before doing it again."""

    may_be_done = True


class SlackWeb:
    """The Web API with the bot's token.

    The SDK's own retries are off: one of them repeats a call whose answer was lost, which posts a
    message twice. Calls of one method wait for each other, so that a rate limit is met once; the
    fairest is next.
    """

    def __init__(self, api_base: str, token: str, clock: Clock) -> None:
        self.client = AsyncWebClient(token, api_base, timeout=_TIMEOUT_S, retry_handlers=[])
        self.host = urlsplit(api_base).hostname or ""
        if bypassed(self.host):
            self.client.proxy = None  # the SDK takes a proxy for localhost and ignores NO_PROXY
        self.trouble = ""
        self.clocks = SlackClock(clock)
        self._token = token
        self._clock = clock
        self._turns: defaultdict[str, Turns] = defaultdict(Turns)
        #: From when until when a method is limited for longer than a call waits (ms UTC).
        self._limited_ms: dict[str, tuple[int, int]] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self.left = False

    def leave(self) -> None:
        """Give up calls without an answer, for the bot ends; later ones are waited for 1 s."""
        self.left = True
        for call in self._under_way:
            call.cancel()

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call one method; raises SlackRefused, AnswerLost, or SurfaceFailed for a rate limit."""
        async with self._turns[method].taken():
            wait_s = self._limited_s(method)
            for _ in range(0 if wait_s else _MOST_WAITS):
                answer = await self._once(method, arguments)
                if isinstance(answer, dict):
                    self.trouble = ""
                    return answer
                wait_s = answer
                if wait_s > LONGEST_WAIT_S:
                    self._limited_for(method, wait_s)
                    break
                await self._clock.sleep(wait_s)
        raise SurfaceFailed(f"Slack's rate limit of {method}", retry_after_s=float(wait_s))

    def _limited_for(self, method: str, wait_s: float) -> None:
        """Note a long limit: asking again before it has passed would only make it longer."""
        now_ms = self._clock.now_ms()
        self._limited_ms[method] = (now_ms, now_ms + int(wait_s * 1000))

    def _limited_s(self, method: str) -> float:
        """Return for how many seconds a method is not asked for, 0 if it is free."""
        (since_ms, until_ms), now_ms = self._limited_ms.get(method, (0, 0)), self._clock.now_ms()
        # A clock that was set back meanwhile cannot tell how much of it has passed.
        return (until_ms - now_ms) / 1000 if since_ms <= now_ms < until_ms else 0.0

    def limits(self) -> list[str]:
        """Return a line for `status` for each long limit that stands."""
        standing = [(m, at_ms) for m, (_, at_ms) in self._limited_ms.items() if self._limited_s(m)]
        return [f"{method} is limited until {moment_words(at_ms)}" for method, at_ms in standing]

    async def _once(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any] | int:
        """Return the answer, or for how many seconds to wait."""
        asked = getattr(self.client, method.replace(".", "_"))(**arguments)
        asked_ms = self._clock.now_ms()
        try:
            response = await self._answered(asked)
        except SlackApiError as error:
            wait_s = _wait_s(error)
            if wait_s is not None:
                return wait_s
            raise self._told(_refusal(method, error)) from None
        except _NO_ANSWER as error:
            raise self._told(_unreached(method, error)) from None
        self.clocks.answered(response.headers, asked_ms)
        answer = dict(response.data) if isinstance(response.data, dict) else {}
        if not readable(method, answer):
            raise self._told(SurfaceFailed(f"the answer to {method} is none of Slack's"))
        return answer

    async def _answered(self, asked: Coroutine[Any, Any, Any]) -> Any:
        """Wait for an answer; raises TimeoutError if the bot ends before it comes."""
        call = asyncio.create_task(asked)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        try:
            async with asyncio.timeout(_LAST_S if self.left else None):
                return await call
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            raise TimeoutError from None

    def _told(self, failure: SurfaceFailed) -> SurfaceFailed:
        self.trouble = str(failure)
        return failure

    async def scopes(self) -> tuple[dict[str, Any], frozenset[str]]:
        """Return the answer of auth.test, and the token's scopes (empty if Slack names none).

        Raises SlackRefused, AnswerLost, or SurfaceFailed for a rate limit.
        """
        with _asked_once("auth.test"):
            response = await self.client.auth_test()
        headers = {key.lower(): value for key, value in response.headers.items()}
        named = str(headers.get("x-oauth-scopes", ""))
        scopes = frozenset(each.strip() for each in named.split(",") if each.strip())
        return dict(response.data) if isinstance(response.data, dict) else {}, scopes

    async def socket_url(self, app_token: str) -> str:
        """Return a fresh address for Socket Mode; raises SlackRefused for a wrong app token,
        AnswerLost, or SurfaceFailed for a rate limit."""
        with _asked_once("apps.connections.open"):
            return str((await self.client.apps_connections_open(app_token=app_token))["url"])

    async def download(self, url: str, most_bytes: int) -> bytes:
        """Return at most `most_bytes` + 1 bytes of a file; the token is sent to Slack alone.

        Raises SurfaceFailed if the address is not Slack's or the file is not given out.
        """
        api = URL(self.client.base_url)
        return await fetched(url, api, self._token, self.client.proxy, most_bytes)

    async def upload(self, name: str, text: str, channel: str, thread_ts: str) -> None:
        """Put a text file into a thread, in Slack's three steps; raises SurfaceFailed."""
        body = text.encode()
        ticket = await self.call("files.getUploadURLExternal", filename=name, length=len(body))
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(ticket["upload_url"], data=body, proxy=self.client.proxy) as response,
            ):
                if response.status != 200:
                    raise SurfaceFailed(f"Slack did not take the file: {response.status}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SurfaceFailed(f"the file cannot be sent: {type(error).__name__}") from None
        files = [{"id": ticket["file_id"], "title": name}]
        await self.call(
            "files.completeUploadExternal", files=files, channel_id=channel, thread_ts=thread_ts
        )

    async def respond(self, url: str, text: str) -> bool:
        """Answer a slash command at its own address, to the person alone; False if not taken."""
        body = {"text": text, "response_type": "ephemeral", "replace_original": False}
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(url, json=body, proxy=self.client.proxy) as response,
            ):
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return False


def bypassed(host: str) -> bool:
    """Say whether a host is reached without a proxy: this machine, and any that NO_PROXY names."""
    return host in ("localhost", "127.0.0.1", "::1") or bool(host and proxy_bypass(host))


@contextlib.contextmanager
def _asked_once(method: str) -> Iterator[None]:
    """Make one call within, which waits for no limit: every trouble of it comes out as ours."""
    try:
        yield
    except SlackApiError as error:
        wait_s = _wait_s(error)
        if wait_s is not None:
            raise SurfaceFailed(f"Slack's rate limit of {method}", retry_after_s=wait_s) from None
        raise _refusal(method, error) from None
    except _NO_ANSWER as error:
        raise _unreached(method, error) from None


def _unreached(method: str, error: Exception) -> AnswerLost:
    return AnswerLost(f"Slack cannot be reached ({method}: {type(error).__name__})")


def _wait_s(error: SlackApiError) -> int | None:
    """Return for how long a limit stands, 1 s to an hour; None if it is none."""
    response = error.response
    status, headers = getattr(response, "status_code", None), getattr(response, "headers", {})
    if status != 429 and _code(error) not in _LIMITED:
        return None
    named = next((value for key, value in headers.items() if key.lower() == "retry-after"), "1")
    digits = str(named)[:9]  # Python reads no number that is thousands of digits long
    asked_s = int(digits) if digits.isascii() and digits.isdigit() else 1
    return max(1, min(asked_s, LONGEST_WAIT_MS // 1000))


def _refusal(method: str, error: SlackApiError) -> SurfaceFailed:
    response, code = error.response, _code(error)
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 200)
    if status >= 500 or code in _PASSING:
        return AnswerLost(f"Slack failed at {method} ({status} {code})".rstrip())
    data = getattr(error.response, "data", {})
    return SlackRefused(method, code, str(data.get("needed", "")) if isinstance(data, dict) else "")


def _code(error: SlackApiError) -> str:
    data = getattr(error.response, "data", None)
    return str(data.get("error", "")) if isinstance(data, dict) else ""
