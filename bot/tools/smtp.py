"""Mail by SMTP: all recipients or none, and honest about what is not known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from aiosmtplib import SMTP, SMTPException, SMTPResponseException

from bot.tools.message import Envelope, enveloped
from lifecycle.ports import ToolDoubtful, ToolFailed
from lifecycle.workings.time_limits import within

_LONGEST_STEP_S: Final = 20.0
#: So much of the time may pass before the text is on its way: it needs the rest to be answered.
_REACHED_BY: Final = 2 / 3
_PORT: Final = 25
_GO_ON: Final = 354
#: These greet and take leave; of the mail they say nothing.
_OF_THE_CONNECTION: Final = frozenset({220, 221})
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
            await self._reach(server, envelope, login, limit_s * _REACHED_BY)
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

    async def _reach(
        self, server: SMTP, envelope: Envelope, login: tuple[str, str] | None, limit_s: float
    ) -> None:
        """Come to where the server waits for the text; one refused recipient ends it for all.

        Raises ToolFailed for whatever fails, and for what takes too long: nothing was sent yet.
        """
        step = "a connection"
        try:
            async with within(limit_s):
                await server.connect()
                if login is not None:
                    step = "the login"
                    await self._log_in(server, *login)
                step = "the sender"
                await server.mail(envelope.sender)
                for number, recipient in enumerate(envelope.recipients, start=1):
                    step = f"recipient {number} of {len(envelope.recipients)}"
                    await server.rcpt(recipient)
                step = "the text"
                answer = await server.execute_command(b"DATA")
                if answer.code != _GO_ON:
                    raise SMTPResponseException(answer.code, answer.message)
                _nothing_ahead(server)
        except ToolFailed:
            raise
        except Exception as error:
            words = f"the mail server did not take {step} ({_named(error)}), so nothing was sent"
            raise ToolFailed(words) from error


def _nothing_ahead(server: SMTP) -> None:
    """Raise SMTPException where the server has said more than it was asked: that would be taken for
    its answer to the text, before it has read a word of it.

    The library has no public name for that: one that keeps it elsewhere sends nothing.
    """
    if server.protocol is None:  # it hung up, which is told as that
        return
    ahead = getattr(server.protocol, "_buffer", None)
    if ahead is None:
        raise SMTPException("this aiosmtplib does not show what was said too early")
    if ahead:
        raise SMTPException("it answers what it was not asked")


async def _hand_over(server: SMTP, data: bytes) -> None:
    """Send the text. An answer that refuses it is clear; no answer at all is not.

    Every 2xx has taken it, but those of the connection. Whoever calls bounds the wait. The text is
    written here, and not by the library: that knows 250 alone, and takes any 2xx to DATA for it.
    """
    talk = server.protocol
    if talk is None or not talk.is_connected:
        raise ToolFailed("the mail server hung up before the text, so nothing was sent")
    try:
        talk.write(_stuffed(data))
        answer = await talk.read_response()
    except (SMTPException, OSError) as error:
        words = f"the mail server was given the text and gave no clear answer ({_named(error)})"
        raise ToolDoubtful(words) from error
    if 200 <= answer.code < 300 and answer.code not in _OF_THE_CONNECTION:
        return
    if 400 <= answer.code < 600:
        raise ToolFailed(f"the mail server refused the text ({answer.code})")
    raise ToolDoubtful(f"the mail server answered {answer.code} to the text")


def _stuffed(data: bytes) -> bytes:
    """Return the text as it goes over the wire: lines end in CRLF, a lone point ends it all."""
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", data)
    whole = lines if lines.endswith(b"\r\n") else lines + b"\r\n"
    return re.sub(rb"(?m)^\.", b"..", whole) + b".\r\n"


def _named(error: BaseException) -> str:
    """Name a fault without what the server said: that may hold addresses.

    Of a fault without a kind of its own the words are the library's, and no server's.
    """
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, SMTPResponseException):
        return str(error.code) if error.code > 0 else "an answer that cannot be read"
    if type(error) is SMTPException:
        return str(error).rstrip(".")
    cause, name = error.__cause__, type(error).__name__
    return name if cause is None else f"{name}: {type(cause).__name__}"
