"""Spares Discord what it punishes: calls during a limit, identifications, connections in a row.

All of it is counted over every client of the process. discord.py waits in none of these cases, or
waits inside, where each further attempt joins a queue that is let go all at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import discord
from discord.http import Route

from bot.chat.cards.spans import moment_words
from bot.chat.discord.calls import TOO_MANY_OLD_EDITS
from bot.chat.discord.pauses import LONGEST_S
from bot.chat.surface import LONGEST_PAUSE_S
from lifecycle.records import LONGEST_WAIT_MS

#: A limit of up to so many seconds is waited for by discord.py, which takes no less; during a
#: longer one no call is made.
WAITED_S: Final = 30.0
#: The first pause if something before Discord refuses calls and does not say for how long.
_UNSAID_S: Final = 5.0
#: A client may identify by itself unless so many identifications were made within so long. One that
#: may not is ended: the pauses between clients keep the bot below the thousand a day at which
#: Discord takes its token away.
_OFTEN: Final = 5
_OFTEN_S: Final = 1_200.0
#: After so many connections within a minute each waits until five seconds after the one before.
_IN_A_ROW: Final = 10
_MINUTE_S: Final = 60.0
#: Names the limit of all calls.
_ALL: Final = ""
#: The call by which a client logs in. The pauses between clients spare Discord this one, and it
#: tells whether what limits all calls still stands: a lost client may come back by another line.
_LOGIN: Final = "GET /users/@me"


class IdentifiedTooOften(Exception):
    """The client would identify once more although it, or others before it, often did just now."""


class Limits:
    """Keeps calls back for as long as Discord, or what stands before it, would refuse them."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        #: From when until when each stands (ms UTC).
        self._stands_ms: dict[str, tuple[int, int]] = {}
        self._unsaid = 0

    def watch(self, http: discord.http.HTTPClient) -> None:
        """Have every call of a client asked for here."""
        http.request = partial(self._asked, http.request)  # type: ignore[method-assign]

    def words(self) -> list[str]:
        """Return a line for `status` for each limit that stands."""
        standing = [each for each in list(self._stands_ms) if self._left_ms(each)]
        return [
            f"{which.rpartition(':')[0] or 'every call'} is limited until "
            f"{moment_words(self._stands_ms[which][1])}"
            for which in standing
        ]

    async def _asked(
        self, request: Callable[..., Awaitable[Any]], route: Route, **given: Any
    ) -> Any:
        """Make a call; raises discord.RateLimited at once during a limit that is known."""
        which = f"{route.key}:{route.major_parameters}"
        login = route.key == _LOGIN
        left_ms = max(self._left_ms(which), 0 if login else self._left_ms(_ALL))
        if left_ms:
            raise discord.RateLimited(left_ms / 1000)
        try:
            answer = await request(route, **given)
        except discord.RateLimited as limit:
            self._limited(which, limit.retry_after)
            raise
        except discord.HTTPException as refused:
            # What is too much for messages older than an hour is about no other message.
            if refused.status == 429 and refused.code != TOO_MANY_OLD_EDITS:
                self._limited(_ALL if _is_page(refused) else which, self._pause_s(refused))
            raise
        self._unsaid = 0
        if login:
            self._stands_ms.pop(_ALL, None)
        return answer

    def _left_ms(self, which: str) -> int:
        (since_ms, until_ms), now_ms = self._stands_ms.get(which, (0, 0)), self._now_ms()
        # A clock that was set back meanwhile cannot tell how much of it has passed.
        if since_ms <= now_ms < until_ms:
            return until_ms - now_ms
        self._stands_ms.pop(which, None)
        return 0

    def _limited(self, which: str, pause_s: float) -> None:
        pause_ms = int(min(pause_s, LONGEST_WAIT_MS / 1000) * 1000)
        now_ms = self._now_ms()
        self._stands_ms[which] = (now_ms, now_ms + pause_ms)

    def _pause_s(self, refused: discord.HTTPException) -> float:
        """Return what was asked for, else ever longer pauses up to a minute."""
        try:
            return max(1.0, float(refused.response.headers["Retry-After"]))
        except (KeyError, ValueError):
            self._unsaid += 1
            return float(min(LONGEST_PAUSE_S, _UNSAID_S * 2 ** min(self._unsaid - 1, 10)))


class Attempts:
    """Counts how often clients connect and identify."""

    def __init__(self) -> None:
        self._identified_s = deque[float](maxlen=_OFTEN)
        self._connected_s = deque[float](maxlen=_IN_A_ROW)

    def watch(self, http: discord.http.HTTPClient) -> None:
        """Have a client pause here before it connects once more in a row."""
        http.ws_connect = partial(self._connected, http.ws_connect)  # type: ignore[method-assign]

    async def _connected(self, connect: Callable[..., Awaitable[Any]], url: str, **how: Any) -> Any:
        made, now_s = self._connected_s, asyncio.get_running_loop().time()
        if len(made) == _IN_A_ROW and now_s - made[0] < _MINUTE_S:
            await asyncio.sleep(LONGEST_S - (now_s - made[-1]))
        made.append(asyncio.get_running_loop().time())
        return await connect(url, **how)

    def identify(self, *, anew: bool) -> None:
        """Count an identification; raises IdentifiedTooOften for one too many that a client makes
        `anew`, without having ended."""
        now_s = asyncio.get_running_loop().time()
        often = len(self._identified_s) == _OFTEN and now_s - self._identified_s[0] < _OFTEN_S
        if anew and often:
            raise IdentifiedTooOften("Discord has ended one session after another")
        self._identified_s.append(now_s)


def _is_page(refused: discord.HTTPException) -> bool:
    """Say whether it is none of Discord's own answers: then it is about all calls."""
    return refused.response.headers.get("Content-Type") != "application/json"
