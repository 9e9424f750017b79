"""At the end all leave together: a surface that is slow takes nothing from calls and answers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot import running
from bot.bootstrap import App, opened
from bot.clocks.clock import SystemClock
from bot.config import load_config
from bot.config.surfaces import Choice
from lifecycle.answers import Reply, Sender
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import ActorKind
from tests.bot.intake.conftest import PLAIN
from tests.builders import MAIL, a_document
from tests.fakes.notifier import PlainNotifier
from tests.fakes.spool import MemorySpool
from tests.fakes.surface import FakeSurface

SOON_S = 10
GRACE_S = 0.05
TOKEN = {"T_LEILA": "leila-token-of-16"}


@dataclass
class Leaving(FakeSurface):
    """A surface that does not leave before it may, as where a platform answers no goodbye."""

    may: asyncio.Event = field(default_factory=asyncio.Event)
    stands: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        super().__init__()

    async def serve(self, _commands: Any, _delivery: Any) -> None:
        self.stands.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.may.wait()


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> Leaving:
    """The one surface of the bot; calls have no more than a moment."""
    surface = Leaving()
    monkeypatch.setattr(running, "_surfaces", lambda *_: [surface])
    monkeypatch.setattr(running, "GRACE_S", GRACE_S)
    return surface


def chosen(*, http: bool) -> Choice:
    return Choice(discord=True, slack=False, terminal=False, http=http)


async def test_calls_have_their_time_from_the_signal_on_however_slowly_a_surface_leaves(
    write_config: Callable[..., Path], leaving: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends(app: App) -> None:
        call = app.workflow.world.background.spawn(asyncio.Event().wait())
        call.add_done_callback(lambda _: leaving.may.set())
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", ends)  # a moment at which it surely runs
    config = load_config(write_config())

    await asyncio.wait_for(running.run_until_stopped(config, chosen(http=False), {}), SOON_S)


async def test_what_a_surface_begins_as_it_leaves_is_ended_before_the_store_closes(
    write_config: Callable[..., Path], leaving: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[asyncio.Task[bool]] = []

    async def ends(app: App) -> None:
        def last_act(_: object) -> None:
            begun.append(app.workflow.world.background.spawn(asyncio.Event().wait()))
            leaving.may.set()

        app.workflow.world.background.spawn(asyncio.Event().wait()).add_done_callback(last_act)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", ends)
    config = load_config(write_config())

    await asyncio.wait_for(running.run_until_stopped(config, chosen(http=False), {}), SOON_S)

    assert [each.cancelled() for each in begun] == [True]


async def last_word(client: httpx.AsyncClient) -> httpx.Response:
    """Ask again whenever something has changed; return what is no answer any more."""
    while (answer := await client.get("/v1/proposals/p1?wait=30")).status_code == httpx.codes.OK:
        pass
    return answer


async def test_who_is_held_back_at_a_door_hears_at_once_although_a_surface_is_slow_to_leave(
    write_config: Callable[..., Path], leaving: Leaving, unused_tcp_port: int
) -> None:
    config = load_config(
        write_config(
            (
                "http: {enabled: false, port: 8080}",
                f"http: {{enabled: true, port: {unused_tcp_port}}}",
            ),
            ("  leila:\n", "  leila:\n    token_env: T_LEILA\n"),
        )
    )
    bot = asyncio.create_task(running.run_until_stopped(config, chosen(http=True), TOKEN))
    headers = {"authorization": f"Bearer {TOKEN['T_LEILA']}"}
    url = f"http://127.0.0.1:{unused_tcp_port}"
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, verify=PLAIN) as leila:
        await asyncio.wait_for(leaving.stands.wait(), SOON_S)
        parameters = {"to": "pat@shop.example", "subject": "Invoice 2847", "body": "Hello"}
        document = a_document(MAIL, ts_ms=SystemClock().now_ms(), parameters=parameters)
        assert (await leila.post("/v1/proposals", json=document)).status_code == 202
        held = asyncio.create_task(last_word(leila))
        await asyncio.wait([held], timeout=0.5)
        assert not held.done()
        os.kill(os.getpid(), signal.SIGTERM)

        try:
            answer = await asyncio.wait_for(held, SOON_S)
        finally:
            leaving.may.set()
            await bot
    assert (answer.status_code, answer.json()["reason"]) == (503, "audit_unavailable")


class FullDisk(MemorySpool):
    """A spool that nothing can be written into."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        raise OSError(28, "No space left on device")


async def frozen_in_vain(app: App) -> Reply:
    """Give a freeze that neither the store nor the spool takes."""

    async def refuses(_unit: Any) -> Any:
        raise StoreUnavailable("database is locked")

    app.workflow.world.spool = FullDisk()
    with pytest.MonkeyPatch.context() as locked:
        locked.setattr(app.store, "write", refuses)
        ana = Sender("terminal", ActorKind.PERSON, "ana", account="ana")
        return await app.workflow.freeze("never do this", ana)


async def test_a_stop_that_the_disk_takes_before_the_end_is_never_said_to_be_lost(
    write_config: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    """It was said as the end began, although the last try to write it down was to come."""
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:
        disk = app.workflow.world.spool
        reply = await frozen_in_vain(app)
        await app.workflow.shut_down(GRACE_S)
        app.workflow.world.spool = disk

    assert "in its memory alone" in reply.words
    assert [stop["reason"] for stop in disk.kept()] == ["never do this"]
    assert "lost" not in caplog.text


async def test_a_stop_that_no_disk_takes_until_the_end_is_said_to_be_lost_once(
    write_config: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:
        await frozen_in_vain(app)
        await app.workflow.shut_down(GRACE_S)

    assert caplog.text.count("the freeze by person ana could be written nowhere and is lost") == 1
