"""Calls tools behind an address: one signed POST for each verb (design section 7).

Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx
from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from bot.tools.receipts import LARGEST_RECEIPT, receipt_in
from bot.tools.unsent import DROPPED, close_as_usual
from lifecycle.ports import Call, ToolDoubtful, ToolFailed
from lifecycle.proposal import Verb
from lifecycle.workings.time_limits import within

_DONE: Final = frozenset({200, 201, 204})
#: Client errors after which something may still happen: timeout, conflict, too early.
_UNCLEAR: Final = frozenset({408, 409, 425})
_CONNECT_S: Final = 10.0
#: The part of the time that a connection and its TLS may each take. It must be known that the other
#: side was never reached before all of the time has passed.
_OF_IT_TO_CONNECT: Final = 1 / 4
#: The part of the time after which a receipt is given up if the status has said done.
_OF_IT_TO_READ: Final = 9 / 10
#: The prefix of a secret of Standard Webhooks, before its base64.
_PREFIX: Final = "whsec_"
#: Content-Encodings that encode nothing.
_PLAIN: Final = ("", "identity")

log = logging.getLogger(__name__)


class WebhookTool:
    """POSTs the call to an address, with a Standard Webhooks signature if a secret is set.

    The codes 200, 201 and 204 mean done. A 4xx code other than 408, 409 and 425, and a connection
    that was never made, are ToolFailed. After anything else, also a redirect, the outcome is
    unknown. Proxies of the environment are not used: what a call is sent through must not depend on
    the shell that started the bot.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        environment: Mapping[str, str],
        now_ms: Callable[[], int],
    ) -> None:
        """Take `{url, secret_env, roll_back}`; the secret is read when it is needed."""
        self._url: str = settings["url"]
        self._secret_env: str | None = settings.get("secret_env")
        self._reversible = settings.get("roll_back") is True
        self._environment = environment
        self._now_ms = now_ms

    def describe(self) -> Mapping[str, str]:
        """Return the address without credentials and query, and say if it has a query."""
        parts = urlsplit(self._url)
        place = parts.netloc.rpartition("@")[2]
        hidden = " with a query that is not shown" if parts.query else ""
        return {"posts to": urlunsplit((parts.scheme, place, parts.path, "", "")) + hidden}

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Post the call."""
        return await self._post(call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Do nothing: execute has acted."""
        return {}

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Post the roll back. Raises ToolFailed if the config does not say `roll_back: true`."""
        if not self._reversible:
            raise ToolFailed(f"{call.tool} has no way to take anything back")
        return await self._post(call)

    async def _post(self, call: Call) -> Mapping[str, Any]:
        read_by_s = asyncio.get_running_loop().time() + call.limit_s * _OF_IT_TO_READ
        _addressed(self._url)
        body = json.dumps(call.as_json(), ensure_ascii=False, separators=(",", ":"))
        headers = self._headers(call, body)
        # The caller limits the whole call. A limit here as well could discard an answer in time.
        connect_s = min(_CONNECT_S, call.limit_s * _OF_IT_TO_CONNECT)
        limit = httpx.Timeout(None, connect=connect_s)
        way = httpx.AsyncHTTPTransport(verify=_trusted(), trust_env=False, socket_options=[DROPPED])
        client = httpx.AsyncClient(
            transport=way, timeout=limit, trust_env=False, follow_redirects=False
        )
        try:
            async with (
                client,
                client.stream("POST", self._url, content=body.encode(), headers=headers) as answer,
            ):
                return await _judged(answer, call, read_by_s)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            name = type(error).__name__
            raise ToolFailed(f"the other side could not be reached ({name})") from error
        except httpx.HTTPError as error:
            name = type(error).__name__
            raise ToolDoubtful(
                f"it was reached and gave no answer that can be read ({name})"
            ) from error

    def _headers(self, call: Call, body: str) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "Idempotency-Key": call.idempotency_key,
            "Signoff-Permit": call.permit,
        }
        if self._secret_env is None:
            return headers
        at = datetime.fromtimestamp(self._now_ms() // 1000, UTC)
        this = _id_of(call)
        signature = self._signer(self._secret_env).sign(this, at, body)
        return headers | {
            "webhook-id": this,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }

    def _signer(self, name: str) -> Webhook:
        """Return the signer for the secret in the variable `name`: `whsec_` and base64, or any
        other text taken as it is. Raises ToolFailed if it is missing, blank or no base64."""
        secret = self._environment.get(name, "")
        if not secret.removeprefix(_PREFIX).strip():  # anybody can guess a key of blanks
            lacks = "holds nothing" if secret else "is not set"
            raise ToolFailed(f"the environment variable {name} {lacks}, so nothing was sent")
        try:
            return Webhook(secret if secret.startswith(_PREFIX) else secret.encode())
        except (ValueError, EmptyWebhookSecretError) as error:
            raise ToolFailed(f"the secret in {name} is no base64") from error


def _addressed(url: str) -> None:
    """Raise ToolFailed if the library can make no request to this address: it then raises whatever
    it met, and the call would be in doubt although nothing was sent."""
    try:
        _ = httpx.Request("POST", url).url.host
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolFailed(
            "its address names no host that there can be, so nothing was sent"
        ) from error


def _id_of(call: Call) -> str:
    """Return the id of the message; a receiver ignores a message whose id it has seen before.

    The key alone is not enough: with another database it comes again for another document.
    """
    return f"{call.idempotency_key}:{sha256(call.digest.encode()).hexdigest()[:16]}"


async def _judged(answer: httpx.Response, call: Call, read_by_s: float) -> Mapping[str, Any]:
    """Return the receipt. Raises ToolFailed, or ToolDoubtful if the outcome is unknown."""
    status = answer.status_code
    if status in _DONE:
        close_as_usual(answer.extensions["network_stream"].get_extra_info("socket"))
        receipt = await _receipt(answer, read_by_s)
        if receipt is not None:
            return {"status": status} if receipt == {} else receipt
        log.warning("%s gave no whole JSON object of 1 MiB at most as its receipt", call.tool)
        if call.verb == Verb.ROLL_BACK:
            raise ToolDoubtful("what still stands cannot be read")
        return {"status": status}
    if httpx.codes.is_client_error(status) and status not in _UNCLEAR:
        raise ToolFailed(f"the other side refused with {status}")
    raise ToolDoubtful(f"it answered with status {status}")


async def _receipt(answer: httpx.Response, read_by_s: float) -> Mapping[str, Any] | None:
    """Return the body of an answer whose status says done, as a receipt: a JSON object of at most
    1 MiB.

    `{}` if there is no body, None if it cannot be read, is cut off or has not ended by `read_by_s`,
    a time of the loop. A compressed body is never decompressed: a thousand bytes can stand for a
    gigabyte.
    """
    if answer.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
        return None
    body = bytearray()
    left_s = max(0.0, read_by_s - asyncio.get_running_loop().time())
    try:
        async with within(left_s):
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > LARGEST_RECEIPT:
                    return None
                # The library hands over ten thousand chunks of a byte without a turn of the loop.
                await asyncio.sleep(0)
    except (httpx.HTTPError, TimeoutError):
        return None
    return receipt_in(bytes(body))


def _trusted() -> SSLContext:
    """Return the trusted certificates; raises ToolFailed if they cannot be read."""
    try:
        return _trust()
    except OSError as error:  # an SSLError about a file without certificates is one as well
        why = error.strerror or type(error).__name__
        words = f"the certificates cannot be read ({why}), so nothing was sent: see SSL_CERT_FILE"
        raise ToolFailed(words) from error


@lru_cache(maxsize=1)
def _trust() -> SSLContext:
    """Read the certificates, also those of SSL_CERT_FILE, only once: that takes longer than most
    calls, and holds up the loop meanwhile."""
    return httpx.create_ssl_context()
