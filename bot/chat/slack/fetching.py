"""Fetches files from Slack with the bot's token, and sends that token to nobody else."""

from __future__ import annotations

import asyncio
from typing import Final

import aiohttp
from yarl import URL

from bot.chat.surface import SurfaceFailed

_SLACK: Final = (".slack.com", ".slack-gov.com")
_TIMEOUT_S: Final = 10
#: So many redirects are followed, each only to Slack itself.
_MOST_STEPS: Final = 4
_SENT_ON: Final = frozenset({301, 302, 303, 307, 308})


async def fetched(url: str, api: URL, token: str, proxy: str | None, most_bytes: int) -> bytes:
    """Return at most `most_bytes` + 1 bytes of the file at `url`; `api` is the Web API's address.

    The address comes with a message, and whoever shares a file that lies elsewhere writes it, so
    each step of the way is checked. Raises SurfaceFailed: `lasting` if one is not Slack's, or Slack
    does not give the file out; else the file may come later.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S), aiohttp.ClientSession() as session:
            place = URL(url)
            for _ in range(_MOST_STEPS):
                _check(place, api)
                headers = {"Authorization": f"Bearer {token}"}
                async with session.get(
                    place, headers=headers, proxy=proxy, allow_redirects=False
                ) as response:
                    if response.status not in _SENT_ON:
                        return await _given_out(response, most_bytes + 1)
                    place = place.join(URL(response.headers.get("Location", "")))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        # ValueError: the address, or the name of its host, is not valid
        words, lasting = f"the file cannot be fetched: {type(error).__name__}", _is_wrong(error)
        raise SurfaceFailed(words, lasting=lasting) from None
    raise SurfaceFailed("Slack sends us on and on for the file", lasting=True)


def _is_wrong(error: Exception) -> bool:
    """Say whether it is the address that is wrong, so that no later attempt will do better."""
    return isinstance(error, ValueError)


def _check(place: URL, api: URL) -> None:
    """Raise SurfaceFailed if an address is not Slack's, or would tell the token to others."""
    host = place.raw_host or ""
    slacks = place.scheme == "https" and host.endswith(_SLACK) and place.is_default_port()
    if not (slacks or place.origin() == api.origin()) or place.user or place.password:
        raise SurfaceFailed("the file is not on Slack", lasting=True)


async def _given_out(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    if response.status == 429 or response.status >= 500:
        raise SurfaceFailed(f"Slack answers {response.status} for the file")
    signed_out = response.content_type == "text/html"
    if response.status != 200 or signed_out:
        words = "Slack does not give the file out; is the scope files:read granted?"
        raise SurfaceFailed(words, lasting=True)
    found = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        found += chunk
        if len(found) >= most_bytes:
            break
    return bytes(found[:most_bytes])
