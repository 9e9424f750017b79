"""Of a call that is over nothing more is sent: by then a person may have settled that nothing came
of it (design section 7)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from types import MappingProxyType
from typing import Any

import pytest

from bot.tools.message import composed
from bot.tools.smtp import SmtpCarrier
from bot.tools.webhook import WebhookTool
from lifecycle.ports import ToolDoubtful, ToolFailed
from tests.bot.tools.mailing import MAIL, NOW_MS, MaildirBench
from tests.contracts.tool_contract import call

#: Far more than either side of a line keeps for a reader that takes nothing.
LONG = ("y" * 70 + "\n") * 100_000
TAKEN, RECEIVED = b"250 taken\r\n", b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"


class Slow:
    """A server that takes only what it is told to take."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port = listener.getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self._line: socket.socket | None = None
        self._ahead = b""

    async def meet(self) -> None:
        self._line, _ = await self._loop.sock_accept(self._listener)

    async def say(self, words: bytes) -> None:
        await self._loop.sock_sendall(self._line, words)

    async def heard(self, end: bytes) -> None:
        """Take until `end` has come; what came behind it is kept."""
        while end not in self._ahead:
            self._ahead += await self._loop.sock_recv(self._line, 64)
        self._ahead = self._ahead.partition(end)[2]

    async def all_of_it(self) -> tuple[bytes, bool]:
        """Take whatever still comes; also return whether the line was cut."""
        data = self._ahead
        with suppress(ConnectionResetError):
            while piece := await self._loop.sock_recv(self._line, 65_536):
                data += piece
            return data, False
        return data, True

    def close(self) -> None:
        if self._line is not None:
            self._line.close()


@asynccontextmanager
async def slow() -> AsyncIterator[Slow]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        listener.setblocking(False)
        server = Slow(listener)
        try:
            yield server
        finally:
            server.close()


class Mail:
    """A mail on its way."""

    end, answer = b"\n.\r\n", TAKEN

    def __init__(self, port: int, folder: Any, body: str) -> None:
        bench = MaildirBench(folder)
        bench.parameters = MAIL | {"body": body}
        self._data = composed(call(bench, "execute"), "agents@shop.example", NOW_MS)
        self._carrier = SmtpCarrier({"host": "127.0.0.1", "port": port}, {})

    def send(self) -> Coroutine[Any, Any, Any]:
        return self._carrier.carry("draft.eml", self._data, 30)

    async def until_under_way(self, server: Slow) -> None:
        await server.say(b"220 hello\r\n")
        for _step in ("EHLO", "MAIL", "RCPT", "RCPT", "RCPT"):
            await server.heard(b"\r\n")
            await server.say(b"250 well\r\n")
        await server.heard(b"DATA\r\n")
        await server.say(b"354 go on\r\n")
        await server.heard(b"yyy")


class Hook:
    """A webhook's call on its way."""

    end, answer = b"null}", RECEIVED

    def __init__(self, port: int, folder: Any, body: str) -> None:
        self.parameters = MappingProxyType({"body": body})
        self._tool = WebhookTool({"url": f"http://127.0.0.1:{port}/"}, {}, lambda: NOW_MS)

    def send(self) -> Coroutine[Any, Any, Any]:
        return self._tool.execute(call(self, "execute"))

    async def until_under_way(self, server: Slow) -> None:
        await server.heard(b"yyy")


@pytest.mark.parametrize("kind", [Mail, Hook])
async def test_what_was_not_taken_when_the_call_ended_is_not_sent_after_it(tmp_path, kind):
    async with slow() as server:
        sent = kind(server.port, tmp_path, LONG)
        sending = asyncio.create_task(sent.send())
        await server.meet()
        await sent.until_under_way(server)

        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        rest, was_cut = await server.all_of_it()

    assert sending.cancelled()
    assert was_cut
    assert len(rest) < len(LONG) / 2


@pytest.mark.parametrize("kind", [Mail, Hook])
async def test_a_line_on_which_the_answer_came_is_closed_as_usual(tmp_path, kind):
    async with slow() as server:
        sent = kind(server.port, tmp_path, "yyy")
        sending = asyncio.create_task(sent.send())
        await server.meet()
        await sent.until_under_way(server)
        await server.heard(sent.end)
        await server.say(sent.answer)
        await sending

        assert await server.all_of_it() == (b"", False)


@pytest.mark.parametrize("answer", [b"552 too large", b"221 bye", b"354 more"])
async def test_of_a_mail_that_is_not_taken_nothing_is_sent_after_the_answer(tmp_path, answer):
    """A server may answer before it has read the text, and would get the rest all the same."""
    async with slow() as server:
        mail = Mail(server.port, tmp_path, LONG)
        sending = asyncio.create_task(mail.send())
        await server.meet()
        await mail.until_under_way(server)
        await server.say(answer + b"\r\n")
        (error,) = await asyncio.gather(sending, return_exceptions=True)
        rest, was_cut = await server.all_of_it()

    assert type(error) is (ToolFailed if answer.startswith(b"5") else ToolDoubtful)
    assert was_cut
    assert len(rest) < len(LONG) / 2
