"""Mail by SMTP: all recipients or none, and honest about what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import aiosmtplib
from aiosmtplib import SMTP, SMTPDataError, SMTPException

from bot.tools.message import Envelope, enveloped
from lifecycle.ports import ToolDoubtful, ToolFailed

_LONGEST_STEP_S: Final = 20.0
_PORT: Final = 25
_READABLE: Final = (
    "the mail server offers no TLS, so the password was not sent; with start_tls: false it is, "
    "and anybody on the way can read it"
)


class SmtpCarrier:
    """Hands mail to a server. Until the text is on its way every fault means: not sent.

    `start_tls`: true demands it, false forbids it, absent uses it where the server offers it;
    `tls`: true speaks TLS from the first byte. A password goes out in the clear only where
    `start_tls` is false: whoever stands between may hide what the server offers.
    """

    repeatable = False

    def __init__(self, settings: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        """Take `{host, port, username_env, password_env, tls, start_tls}`."""
        self._settings = settings
        self._environment = environment

    def describe(self) -> str:
        """Return host and port."""
        return f"SMTP {self._settings['host']}:{self._settings.get('port', _PORT)}"

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        """Send; ToolFailed until the server was given the text or where it refused it."""
        envelope, login = enveloped(data), self._login()
        server = self._server(min(_LONGEST_STEP_S, limit_s))
        try:
            await self._reach(server, envelope, login)
            await _hand_over(server, envelope.data)
        finally:
            server.close()
        return self.describe()

    def _server(self, timeout_s: float) -> SMTP:
        return SMTP(
            hostname=self._settings["host"],
            port=self._settings.get("port", _PORT),
            use_tls=bool(self._settings.get("tls")),
            start_tls=None if self._settings.get("tls") else self._settings.get("start_tls"),
            timeout=timeout_s,
        )

    def _login(self) -> tuple[str, str] | None:
        """Return user and password, None where none are configured; raises ToolFailed."""
        user, password = self._named("username_env"), self._named("password_env")
        return None if user is None else (user, password or "")

    async def _log_in(self, server: SMTP, user: str, password: str) -> None:
        """Log in; raises ToolFailed where anybody on the way could read the password."""
        encrypted = server.get_transport_info("sslcontext") is not None
        if not encrypted and self._settings.get("start_tls") is not False:
            raise ToolFailed(_READABLE)
        await server.login(user, password)

    def _named(self, key: str) -> str | None:
        """Return the value of the environment variable that a setting names."""
        name = self._settings.get(key)
        if name is None:
            return None
        if name not in self._environment:
            raise ToolFailed(f"the environment variable {name} is not set")
        return self._environment[name]

    async def _reach(self, server: SMTP, envelope: Envelope, login: tuple[str, str] | None) -> None:
        """Connect, log in and name sender and recipients; one refused recipient ends it for all."""
        try:
            await server.connect()
            if login is not None:
                await self._log_in(server, *login)
            await server.mail(envelope.sender)
            for recipient in envelope.recipients:
                await server.rcpt(recipient)
        except (SMTPException, OSError, ValueError) as error:
            raise ToolFailed(f"the mail server did not take the mail ({_named(error)})") from error


async def _hand_over(server: SMTP, data: bytes) -> None:
    """Send the text. An answer that refuses it is clear; no answer at all is not.

    Every 2xx has taken it, though the library knows 250 alone. Whoever calls bounds the wait.
    """
    try:
        await server.data(data, timeout=None)
    except SMTPDataError as error:
        if 200 <= error.code < 300:
            return
        if error.code < 400:
            raise ToolDoubtful(f"the mail server answered {error.code} to the text") from error
        raise ToolFailed(f"the mail server refused the text ({error.code})") from error


def _named(error: BaseException) -> str:
    """Name a fault without what the server said: that may hold addresses."""
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return str(error.code)
    return type(error).__name__
