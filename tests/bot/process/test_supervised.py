"""systemd is told that the bot has begun, lives and ends; one that hangs gives no sign of life."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.process.supervised import Supervisor
from bot.storage import open_store
from lifecycle.ports import ProposalStore, StoreUnavailable
from tests.fakes.systemd import ALIVE, SOON_S, Systemd
from tests.slack_stage.waiting import eventually

#: Signs are given four times as often as this, in microseconds.
PATIENCE_US = 100_000


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    made = Systemd(str(tmp_path / "notify"))
    yield made
    made.line.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ProposalStore]:
    opened = await open_store("sqlite:///signoff.db", tmp_path)
    yield opened
    await opened.close()


def over_us(systemd: Systemd, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": systemd.line.getsockname(), "WATCHDOG_USEC": str(PATIENCE_US)} | more


@asynccontextmanager
async def giving_signs(supervisor: Supervisor) -> AsyncIterator[None]:
    signs = asyncio.create_task(supervisor.give_signs())
    yield
    signs.cancel()
    await asyncio.gather(signs, return_exceptions=True)


async def test_what_lives_gives_signs_of_life_again_and_again(
    systemd: Systemd, store: ProposalStore
) -> None:
    supervisor = Supervisor(over_us(systemd, WATCHDOG_PID=str(os.getpid())), store)
    supervisor.begun()
    async with giving_signs(supervisor):
        assert [await systemd.hears() for _ in range(3)] == [b"READY=1", ALIVE, ALIVE]
    while not systemd.nothing():
        continue
    supervisor.ending()
    assert systemd.told() == b"STOPPING=1"


@pytest.mark.parametrize("verb", ["read", "write"])
async def test_no_sign_is_given_while_the_store_does_not_answer(
    systemd: Systemd,
    store: ProposalStore,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers = asyncio.Event()

    async def hangs(_unit: Any) -> None:
        await answers.wait()

    monkeypatch.setattr(store, verb, hangs)
    async with giving_signs(Supervisor(over_us(systemd), store)):
        await eventually(lambda: "the store has not answered" in caplog.text)
        assert systemd.nothing()
        answers.set()
        assert await systemd.hears() == ALIVE


async def test_a_store_that_cannot_be_written_is_no_reason_to_be_killed(
    systemd: Systemd, store: ProposalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_unit: Any) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(store, "write", full)
    async with giving_signs(Supervisor(over_us(systemd), store)):
        assert await systemd.hears() == ALIVE


@pytest.mark.parametrize(
    "environment",
    [{}, {"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": ""}, {"WATCHDOG_USEC": "soon"}],
    ids=["no systemd", "another process", "no watchdog", "no number"],
)
async def test_nobody_who_did_not_ask_is_given_signs(
    systemd: Systemd, store: ProposalStore, environment: dict[str, str]
) -> None:
    given = over_us(systemd) | environment if environment else {}
    supervisor = Supervisor(given, store)
    supervisor.begun()
    async with asyncio.timeout(SOON_S):
        await supervisor.give_signs()
    said = b"" if systemd.nothing() else b"READY=1"
    assert said == b"" or environment


async def test_a_systemd_that_is_gone_stops_nothing(
    store: ProposalStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Supervisor({"NOTIFY_SOCKET": str(tmp_path / "nobody")}, store).begun()
    assert "systemd could not be told READY=1: No such file or directory" in caplog.text
