"""Sends mail by SMTP to all recipients or to none, and says so if it is not known which.

Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from aiosmtplib import SMTP, SMTPException, SMTPResponse, SMTPResponseException

from bot.tools.message import Envelope, enveloped
from bot.tools.unsent import close_as_usual, drop_at_the_end
from lifecycle.ports import ToolDoubtful, ToolFailed
from lifecycle.workings.time_limits import within

_LONGEST_STEP_S: Final = 20.0
#: The part of the time that may pass before the text is sent; its answer needs the rest.
_REACHED_BY: Final = 2 / 3
#: How long this machine's own name is looked up, and the part of the time that this may take.
_NAMED_S: Final = 2.0
_OF_IT_TO_NAME: Final = 1 / 8
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")
#: What a machine without a name that can be sent says in its place (RFC 5321, 4.1.3).
_NAMELESS: Final = "[127.0.0.1]"
_PORT: Final = 25
_GO_ON: Final = 354
#: The codes of a greeting and a farewell, which say nothing about the mail.
_OF_THE_CONNECTION: Final = frozenset({220, 221})
_READABLE: Final = (
    "the mail server offers no TLS, so the password was not sent; with start_tls: false it is, "
    "and anybody on the way can read it"
)


class SmtpCarrier:
    """Hands mail to a server. A failure before the text is sent means that the mail was not sent.

    `start_tls`: true demands it, false forbids it, absent uses it if the server offers it;
    `tls`: true speaks TLS from the first byte. A password is sent unencrypted only if `start_tls`
    is false, because somebody on the way may hide that the server offers TLS.
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
        """Send the mail; `limit_s` is how many seconds the caller waits at most.

        Raises ToolFailed if the server was not given the text, or refused it, ToolDoubtful if it
        gave no clear answer to the text.
        """
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
        """Return user and password, None if no user is configured.

        Raises ToolFailed if a variable is not set.
        """
        user, password = self._named("username_env"), self._named("password_env")
        return None if user is None else (user, password or "")

    async def _log_in(self, server: SMTP, user: str, password: str) -> None:
        """Log in. Raises ToolFailed if somebody on the way could read the password."""
        encrypted = server.get_transport_info("sslcontext") is not None
        if not encrypted and self._settings.get("start_tls") is not False:
            raise ToolFailed(_READABLE)
        await server.login(user, password)

    def _named(self, key: str) -> str | None:
        """Return the value of the environment variable that a setting names, None without the
        setting. Raises ToolFailed if the variable is not set."""
        name = self._settings.get(key)
        if name is None:
            return None
        if name not in self._environment:
            raise ToolFailed(f"the environment variable {name} is not set")
        return self._environment[name]

    async def _reach(
        self, server: SMTP, envelope: Envelope, login: tuple[str, str] | None, limit_s: float
    ) -> None:
        """Talk with the server until it waits for the text; one refused recipient ends it for all.

        Raises ToolFailed if anything fails or if it takes more than `limit_s` seconds, because
        nothing was sent yet.
        """
        step = "a connection"
        try:
            async with within(limit_s):
                await server.connect(local_hostname=await _own_name(limit_s * _OF_IT_TO_NAME))
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


async def _own_name(limit_s: float) -> str:
    """Return the name by which this machine greets a server; `limit_s` is how many seconds looking
    it up may take.

    The library would look it up in the loop's pool, and send nothing before it has an answer. While
    no name server answers, a few mails would keep the threads of the pool from everything else.
    """
    name = socket.gethostname()
    with suppress(OSError, ValueError):  # no answer in time among them
        async with within(min(_NAMED_S, limit_s)):
            ask = asyncio.get_running_loop().getaddrinfo
            found = await ask(name, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
            name = next((whole for _, _, _, whole, _ in found if whole), name)
    return name if _NAME.fullmatch(name) else _NAMELESS


def _nothing_ahead(server: SMTP) -> None:
    """Raise SMTPException if the server has sent more than the answers to what it was asked.

    The rest would be taken for its answer to the text, of which it has read nothing yet. The
    library has no public name for the bytes that are not read yet; with a version that keeps them
    elsewhere nothing is sent.
    """
    if server.protocol is None:  # the server hung up, which `_hand_over` reports
        return
    ahead = getattr(server.protocol, "_buffer", None)
    if ahead is None:
        raise SMTPException("this aiosmtplib does not show what was said too early")
    if ahead:
        raise SMTPException("it answers what it was not asked")


async def _hand_over(server: SMTP, data: bytes) -> None:
    """Send the text. Raises ToolFailed if the server refuses it, ToolDoubtful if there is no answer
    or an unclear one.

    Every 2xx code accepts it, except those of the connection. The caller limits how long this may
    wait; unless the text is accepted, nothing of it is sent after that. The library's own way
    to send is not used, because it accepts 250 alone, and its error for any other 2xx does not say
    whether that answered the text or the DATA before it.
    """
    talk = server.protocol
    if talk is None or not talk.is_connected:
        raise ToolFailed("the mail server hung up before the text, so nothing was sent")
    try:
        with _cut_unless_taken(talk.transport):
            talk.write(_stuffed(data))
            _accepted(await talk.read_response())
    except (SMTPException, OSError) as error:
        words = f"the mail server was given the text and gave no clear answer ({_named(error)})"
        raise ToolDoubtful(words) from error


def _accepted(answer: SMTPResponse) -> None:
    """Raise ToolFailed if the text is refused, ToolDoubtful if the answer is unclear."""
    if 200 <= answer.code < 300 and answer.code not in _OF_THE_CONNECTION:
        return
    if 400 <= answer.code < 600:
        raise ToolFailed(f"the mail server refused the text ({answer.code})")
    raise ToolDoubtful(f"the mail server answered {answer.code} to the text")


@contextmanager
def _cut_unless_taken(transport: Any) -> Iterator[None]:
    """Cut the line at once if the body ends by an error, or is cancelled: a server that refuses the
    text before it has read it would get the rest as well."""
    connection = transport.get_extra_info("socket")
    drop_at_the_end(connection)
    try:
        yield
    except BaseException:
        transport.abort()
        raise
    close_as_usual(connection)


def _stuffed(data: bytes) -> bytes:
    """Return the text as it is sent: lines end in CRLF, points that begin a line are doubled, and a
    line with a single point ends it."""
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", data)
    whole = lines if lines.endswith(b"\r\n") else lines + b"\r\n"
    return re.sub(rb"(?m)^\.", b"..", whole) + b".\r\n"


def _named(error: BaseException) -> str:
    """Name an error without the words of the server, because these may hold addresses.

    A plain SMTPException is named by its words, which are those of the library or our own.
    """
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, SMTPResponseException):
        return str(error.code) if error.code > 0 else "an answer that cannot be read"
    if type(error) is SMTPException:
        return str(error).rstrip(".")
    cause, name = error.__cause__, type(error).__name__
    return name if cause is None else f"{name}: {type(cause).__name__}"
