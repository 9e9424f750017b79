"""Logs what Slack's own libraries report in our words: each reason once, however much comes."""

from __future__ import annotations

import logging
import re
from typing import Final

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from lifecycle.located import located
from lifecycle.ports import StoreClosed, StoreUnavailable

log = logging.getLogger("signoff.slack")

_TICKET: Final = re.compile(r"ticket=[^&\s'\"]+")


class Acknowledging(AsyncSocketModeHandler):
    """Hears over a socket. What can no longer be acknowledged Slack delivers again."""

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        """Process one envelope, and acknowledge it if the connection still stands."""
        try:
            await super().handle(client, req)
        except ConnectionError as error:
            log.info("slack: the connection went before an acknowledgement: %s", error)


class NotTaken:
    """Logs why events are not taken: a failing store once a reason, and nothing while stopping."""

    def __init__(self) -> None:
        """Begin with no reason logged."""
        self._told: set[str] = set()

    def taken(self) -> None:
        """Note that something was taken: the next failure is news."""
        self._told.clear()

    async def failed(self, error: Exception) -> None:
        """Log why something was not taken; Slack is answered that it failed."""
        if isinstance(error, StoreClosed):
            return  # the bot ends: the next start reads the cards, and Slack delivers again
        if not isinstance(error, StoreUnavailable):
            log.error("slack: what came could not be heard: %s", located(error))
            return
        why = str(error)
        tell = log.info if why in self._told else log.warning
        self._told.add(why)
        tell("slack: what comes is not taken, and Slack is told so: %s", why)


def library_log() -> logging.Logger:
    """Return the SDK's own log, set to errors alone, each in one line."""
    library = logging.getLogger("signoff.slack.sdk")
    library.setLevel(logging.ERROR)
    if not library.filters:
        library.addFilter(_without_trace)
    return library


def _without_trace(entry: logging.LogRecord) -> bool:
    entry.exc_info = entry.exc_text = None
    # The SDK quotes the address of its socket, and the ticket in it opens another one.
    entry.msg, entry.args = _TICKET.sub("ticket=…", entry.getMessage()), ()
    return True
