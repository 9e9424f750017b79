"""A name server that does not answer keeps no mail from a server that is reached without it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from bot.process.lookups import look_up_apart
from bot.process.pool import started_pool
from bot.tools.message import composed
from bot.tools.smtp import SmtpCarrier
from tests.bot.tools.mailing import NOW_MS, MaildirBench
from tests.bot.tools.test_smtp import Post, listening
from tests.contracts.tool_contract import call

#: More than any pool has threads.
MANY = 40


class Greeted(Post):
    """A mail server that notes the names by which it is greeted."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    async def handle_DATA(self, server, session, envelope):
        self.names.append(session.host_name)
        return await super().handle_DATA(server, session, envelope)


class NameServer:
    """Stands in the place of the system's resolver; `whole` is the machine's name, None is no
    answer."""

    def __init__(self) -> None:
        self.whole: str | None = None
        self.ends = threading.Event()

    def _answer(self) -> str:
        if self.whole is None:
            self.ends.wait(60)
        return self.whole or ""

    def getaddrinfo(self, host: str, port: Any, *rest: int) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, self._answer(), ("192.0.2.1", 0))]

    def gethostbyaddr(self, name: str) -> tuple[str, list[str], list[str]]:
        return self._answer(), [], ["192.0.2.1"]


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """A resolver of our own, in a loop as that of a running bot."""
    running, server = asyncio.get_running_loop(), NameServer()
    running.set_default_executor(started_pool())
    look_up_apart(running)
    monkeypatch.setattr(socket, "gethostname", lambda: "machine")
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    monkeypatch.setattr(socket, "gethostbyaddr", server.gethostbyaddr)
    yield server
    server.ends.set()


def carried(tmp_path, port: int, limit_s: float = 20) -> Any:
    made = composed(call(MaildirBench(tmp_path), "execute"), "agents@shop.example", NOW_MS)
    carrier = SmtpCarrier({"host": "127.0.0.1", "port": port}, {})
    return carrier.carry("draft.eml", made, limit_s)


@pytest.mark.timeout(50)
async def test_mails_leave_and_hold_up_nothing_while_no_name_server_answers(tmp_path, names):
    post = Greeted()
    async with listening(post, hostname="post.shop.example") as port:
        leaving = [asyncio.create_task(carried(tmp_path, port, limit_s=8)) for _ in range(MANY)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(asyncio.to_thread(int), 20) == 0
        await asyncio.gather(*leaving)

    assert (len(post.got), set(post.names)) == (MANY, {"machine"})


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        ("machine.shop.example", "machine.shop.example"),
        ("", "machine"),
        ("máquina.shop.example", "[127.0.0.1]"),
        ("machine.shop.example SIZE=1", "[127.0.0.1]"),
    ],
)
async def test_a_server_is_greeted_by_the_whole_name_of_this_machine(tmp_path, names, whole, said):
    names.whole, post = whole, Greeted()
    async with listening(post, hostname="post.shop.example") as port:
        await carried(tmp_path, port)

    assert post.names == [said]
