"""Makes REST calls and sorts what goes wrong: gone, lasting, to be tried later, or unknown if done.

Twin: `slack/calls.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import aiohttp
import discord

from bot.chat.surface import CardGone, SurfaceFailed
from bot.process.cancelling import being_cancelled

#: Discord's codes for an unknown message and an unknown emoji.
UNKNOWN_MESSAGE: Final = 10008
UNKNOWN_EMOJI: Final = 10014
#: Unknown member, unknown user: Discord's codes for those who are not on the server.
NO_MEMBER: Final = frozenset({10007, 10013})
#: The message is another account's: the bot had another application when it posted it.
_OF_ANOTHER: Final = 50005
#: A message older than an hour was edited too often.
TOO_MANY_OLD_EDITS: Final = 30046
#: Codes that pass: refused by a proxy before Discord; not available yet; overloaded.
_PASSING: Final = frozenset({40333, 110001, 130000})
#: Statuses that, without one of Discord's codes, say nothing about what was asked.
_UNTOLD: Final = frozenset({401, 403, 404})
_OLD_EDIT_PAUSE_S: Final = 60.0
_PAUSE_S: Final = 5.0
#: So long an answer is waited for; discord.py itself would wait for minutes.
ANSWERED_S: Final = 30.0

#: Errors of the network: neither our fault nor Discord's answer.
NETWORK: Final = (aiohttp.ClientError, OSError, TimeoutError, asyncio.TimeoutError)

#: What discord.py raises if an answer is not Discord's: a proxy's page, an empty body.
_UNREADABLE: Final = (ValueError, TypeError, KeyError)


class DoneUnknown(SurfaceFailed):
    """The answer was lost: what was asked for may have been done."""

    may_be_done = True


class OfAnother(SurfaceFailed):
    """The message is another account's, and will never be edited by this one."""


T = TypeVar("T")
#: Calls under way, also those that were not answered in time and go on by themselves.
_left: Final[set[asyncio.Future[Any]]] = set()


#: What a call may raise. Anything else is a mistake of ours.
_MET: Final = (
    *(discord.HTTPException, discord.RateLimited, AttributeError, RuntimeError),
    *(*NETWORK, *_UNREADABLE),
)


@asynccontextmanager
async def spoken_to(what: str) -> AsyncIterator[None]:
    """Make calls within; every trouble comes out as a SurfaceFailed that names `what`."""
    try:
        yield
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        raise DoneUnknown(f"{what}: the client was closed meanwhile") from error
    except _MET as error:
        raise _failure(what, error) from error


async def answered(what: str, call: Awaitable[T]) -> T:
    """Make one call; every trouble comes out as a SurfaceFailed that names `what`.

    A call without an answer in time is not cancelled: half done it could keep all later ones
    waiting. It raises DoneUnknown, for nobody knows whether it is done.
    """
    calling = asyncio.ensure_future(call)
    _left.add(calling)
    calling.add_done_callback(_ended)
    async with spoken_to(what):
        await asyncio.wait({calling}, timeout=ANSWERED_S)
        if not calling.done():
            raise DoneUnknown(f"{what}: Discord has not answered for {ANSWERED_S:.0f} s")
        return calling.result()


def _ended(calling: asyncio.Future[Any]) -> None:
    _left.discard(calling)
    if not calling.cancelled():
        calling.exception()  # retrieved, so that asyncio does not log it if nobody waits any more


def _failure(what: str, error: Exception) -> SurfaceFailed:
    match error:
        case discord.NotFound() if error.code == UNKNOWN_MESSAGE:
            return CardGone(f"{what}: the message is gone")
        case discord.Forbidden() if error.code == _OF_ANOTHER:
            return OfAnother(f"{what}: another account of the bot posted it")
        case discord.RateLimited():
            return SurfaceFailed(f"{what}: rate limited", retry_after_s=error.retry_after)
        case discord.HTTPException():
            return _sorted(what, error)
        case AttributeError() | RuntimeError():
            # discord.py without a session: closed, or not logged in yet.
            return SurfaceFailed(f"{what}: not connected", retry_after_s=1.0)
        case _:
            return DoneUnknown(f"{what}: {type(error).__name__}")


def _sorted(what: str, error: discord.HTTPException) -> SurfaceFailed:
    words = f"{what}: {_words(error)}"
    if error.code == TOO_MANY_OLD_EDITS:
        return SurfaceFailed(words, retry_after_s=_OLD_EDIT_PAUSE_S)
    if error.status == 429:
        return SurfaceFailed(words, retry_after_s=_retry_after(error))
    if error.status >= 500:
        return DoneUnknown(words)
    return SurfaceFailed(words, lasting=_meant(error))


def _meant(error: discord.HTTPException) -> bool:
    """Say whether a refusal is Discord's own word about what was asked, and so will be repeated.

    One without a code of Discord's comes from something in between, or is about the token.
    """
    without_code = error.code == 0 and error.status in _UNTOLD
    return not without_code and error.code not in _PASSING


def _retry_after(error: discord.HTTPException) -> float:
    try:
        return max(1.0, float(error.response.headers.get("Retry-After", _PAUSE_S)))
    except ValueError:
        return _PAUSE_S


def _words(error: discord.HTTPException) -> str:
    """Return Discord's own words, cut short, and nothing of what was sent."""
    return f"Discord answered {error.status} ({error.code}) {error.text[:120]}".strip()
