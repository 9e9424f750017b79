"""A stop that was heard at the terminal counts, although the bot is told to end before its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.chat.terminal import ahead, client
from lifecycle.state import State
from lifecycle.stops.lost_stops import tell_of_lost_stops
from tests.bot.chat.test_terminal_full_disk import Typist
from tests.bot.cli_beside import Unanswered
from tests.builders import MAIL, PROD
from tests.fakes.discord_stage import until
from tests.fakes.tools import waiting_for
from tests.terminal import Terminal, a_terminal

SLOW = "production-deploy"


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody types: there is a pause before each line."""
    monkeypatch.setattr(ahead, "_PAUSE_S", -1.0)


async def in_its_window(terminal: Terminal) -> str:
    """Propose and approve a mail, which is then a draft inside its window."""
    proposal_id = str((await terminal.proposes(MAIL, proposal_id="mail-1"))["proposal_id"])
    await terminal.types(f"approve {proposal_id}")
    return proposal_id


@asynccontextmanager
async def told_to_end(
    terminal: Terminal, *typed: str, before: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Type stops while the tool of an earlier line works, and end the terminal before their turn.

    The tool answers when this is left. `before` is called as the end comes.
    """
    slow, gate = await terminal.proposes(PROD, proposal_id="slow-1"), asyncio.Event()
    tool, heard = terminal.world.tool(SLOW), terminal.world.workflow.world.heard
    tool.on["execute"] = waiting_for(gate)
    typist = Typist()
    running = asyncio.create_task(terminal.client.run(typist))
    typist.type(f"approve {slow['proposal_id']}")
    await until(lambda: tool.calls, "the tool works")
    typist.type(*typed)
    waits = len(typed)
    await until(lambda: len(heard.ids()) + len(heard.freezes()) == waits, "the stops were heard")
    before()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    yield
    gate.set()


async def test_a_stop_that_waits_for_its_turn_is_carried_out_as_the_bot_ends() -> None:
    """It was heard, and held what it was of; after the next start the mail left all the same."""
    terminal = a_terminal()
    proposal_id = await in_its_window(terminal)

    async with told_to_end(terminal, f"reject {proposal_id} wrong amount"):
        pass
    await terminal.world.workflow.shut_down()

    assert (await terminal.world.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_freeze_that_waits_for_its_turn_is_in_force_after_the_end() -> None:
    terminal = a_terminal()

    async with told_to_end(terminal, "freeze leak"):
        pass
    await terminal.world.workflow.shut_down()

    kept = await terminal.world.store.read(lambda tx: tx.flags.get("freeze"))
    assert kept is not None
    assert kept["reason"] == "leak"


@pytest.mark.parametrize("hanging", [("write",), ("read", "write")])
async def test_stops_on_which_a_hanging_disk_does_not_answer_are_kept_and_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, hanging: tuple[str, ...]
) -> None:
    """They stood in the queue of the store alone; nobody was told, and the mail left."""
    terminal = a_terminal()
    proposal_id = await in_its_window(terminal)
    law = terminal.world.workflow.world

    monkeypatch.setattr("bot.chat.commands.deciding._READ_S", 0.02)

    async def hangs(_unit: Callable[[Any], Any]) -> Any:
        await asyncio.Event().wait()

    def hang() -> None:
        for asked in hanging:
            monkeypatch.setattr(law.store, asked, hangs)

    typed = (f"reject {proposal_id} wrong amount", "freeze leak")
    async with told_to_end(terminal, *typed, before=hang):
        await terminal.world.workflow.shut_down(0.2)
        tell_of_lost_stops(law)

    kept = {(stop["proposal_id"], stop["reason"]) for stop in terminal.world.spool.stops}
    assert kept == {(proposal_id, "wrong amount"), ("", "leak")}
    assert f"had not confirmed the stop of '{proposal_id}' by person ana" in caplog.text
    assert "had not confirmed the freeze by person ana" in caplog.text
    assert "is lost with this process" not in caplog.text


async def test_a_stop_whose_giver_no_chat_knows_in_time_is_kept_and_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A chat that did not say who is a member held it up, and it was gone without a word."""
    terminal = a_terminal()
    proposal_id = await in_its_window(terminal)
    law = terminal.world.workflow.world

    def grow_silent() -> None:
        monkeypatch.setattr(law, "notifier", Unanswered())

    typed = f"reject {proposal_id} wrong amount"
    async with told_to_end(terminal, typed, before=grow_silent):
        await terminal.world.workflow.shut_down(0.2)
        tell_of_lost_stops(law)

    assert [stop["proposal_id"] for stop in terminal.world.spool.stops] == [proposal_id]
    assert f"had not confirmed the stop of '{proposal_id}' by person ana" in caplog.text


async def test_a_stop_that_waits_behind_what_is_being_shown_is_carried_out_as_the_bot_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the next line, no longer read ahead and not begun yet."""
    monkeypatch.setattr(client, "_OTHERS_S", 0.01)
    terminal, typist = a_terminal(), Typist()
    proposal_id = await in_its_window(terminal)
    law = terminal.world.workflow.world

    async with law.notifier.delivery("terminal").held():  # type: ignore[attr-defined]
        running = asyncio.create_task(terminal.client.run(typist))
        typist.type(f"reject {proposal_id} wrong amount")
        await until(lambda: terminal.client._handed_out, "the stop is the next line")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await terminal.world.workflow.shut_down()

    assert running.cancelled()
    assert (await terminal.world.proposal(proposal_id)).state is State.ROLLED_BACK


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("reject mail-1 wrong amount", ["mail-1"]),
        ("freeze leak", [""]),
        ("leila: reject mail-1 wrong amount", []),
        ("approve slow-1", []),
    ],
)
async def test_what_a_hanging_disk_has_at_the_end_is_kept_once_if_a_person_stops_something(
    monkeypatch: pytest.MonkeyPatch, typed: str, kept: list[str]
) -> None:
    """What approves would be a stop after the next start. A stop is as old as when it was given."""
    terminal, typist, handed = a_terminal(), Typist(), list[Any]()
    await in_its_window(terminal)
    await terminal.proposes(PROD, proposal_id="slow-1")
    law, heard_ms = terminal.world.workflow.world, terminal.world.clock.now_ms()

    async def hangs(unit: Callable[[Any], Any]) -> Any:
        handed.append(unit)
        await asyncio.Event().wait()

    monkeypatch.setattr(law.store, "write", hangs)
    running = asyncio.create_task(terminal.client.run(typist))
    typist.type(typed)
    await until(lambda: handed, "it was handed to the store")
    terminal.world.clock.advance(5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await terminal.world.workflow.shut_down(0.2)
    tell_of_lost_stops(law)

    stops = terminal.world.spool.stops
    assert [(each["proposal_id"], each["at_ms"]) for each in stops] == [
        (proposal_id, heard_ms) for proposal_id in kept
    ]
