"""Where memory runs short in the middle of a call, nothing of it goes on or holds up another."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.tools import email, program
from bot.tools.leftovers import Leftovers, Mark
from lifecycle.calls.calling import call_tool
from lifecycle.ports import ToolDoubtful
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MaildirBench
from tests.bot.tools.shell import outcome_of
from tests.contracts.tool_contract import call, done


class ShortOnce:
    """Raises MemoryError in place of the first call of a function; later ones go through."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.fell_short = function, False

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.fell_short:
            self.fell_short = True
            raise MemoryError
        return self._function(*args, **named)


def descriptors() -> set[Path]:
    """Return what this process has open, the folder that is read for that included.

    There may be fewer later: what an earlier test left is collected at any time.
    """
    return set(Path("/dev/fd").iterdir())


async def test_a_program_is_watched_to_its_end_though_its_thread_was_short_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody saw its end: the call never ended, and its ❌ waited for the next start of the bot."""
    short = ShortOnce(os.waitid)
    monkeypatch.setattr(os, "waitid", short)

    result = await asyncio.wait_for(outcome_of("touch acted", tmp_path), 20)

    assert short.fell_short
    assert result.outcome is Outcome.DONE
    assert (tmp_path / "acted").exists()


async def test_a_call_ends_with_its_program_though_the_loop_could_not_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_for: Callable[[float], None]
) -> None:
    over = asyncio.Event()

    def short(*_: object) -> None:
        over.set()
        raise MemoryError

    monkeypatch.setattr(program._Program, "_tell", short)
    monkeypatch.setattr(program, "_GRACE_S", 0.01)

    calling = asyncio.create_task(outcome_of("touch acted", tmp_path, limit_s=60))
    await asyncio.wait_for(over.wait(), 20)
    stopped_for(59.9)
    result = await asyncio.wait_for(calling, 20)

    assert result.outcome is Outcome.UNKNOWN
    assert (tmp_path / "acted").exists()


@pytest.mark.parametrize("short", [(Mark, "belongs_to"), (subprocess, "bytearray")])
async def test_a_program_that_began_while_memory_ran_short_is_ended_and_called_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: tuple[Any, str]
) -> None:
    """It went on for as long as it liked, with nobody who waited for it or ended it."""
    owner, name = short  # Popen takes the bytearray once the program is on its way
    monkeypatch.setattr(owner, name, ShortOnce(getattr(owner, name, bytearray)), raising=False)
    folder = tmp_path / "running"
    place = program.Place(tmp_path, os.environ, Leftovers(folder))
    before, opened = set(threading.enumerate()), descriptors()

    with pytest.raises(ToolDoubtful, match="was started and could not be listened to"):
        await program.run(["sh", "-c", "exec sleep 600"], b"", place, 10)

    watching = [each for each in threading.enumerate() if each not in before]
    for thread in watching:
        await asyncio.to_thread(thread.join, 20)
        assert not thread.is_alive(), "the program goes on"
    assert list(folder.iterdir()) == []
    assert descriptors() <= opened


def test_a_mark_that_cannot_be_made_for_want_of_memory_leaves_neither_file_nor_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", ShortOnce(os.pwrite))
    before = descriptors()

    with pytest.raises(MemoryError):
        Leftovers(tmp_path / "running").mark()

    assert list((tmp_path / "running").iterdir()) == []
    assert descriptors() <= before


async def test_a_mail_leaves_though_the_end_of_an_earlier_attempt_could_not_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never left before a restart: each attempt waited for one that had ended."""
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    asked = replace(call(bench, "commit", executed.receipt), limit_s=4)
    with monkeypatch.context() as patched:
        patched.setattr(bench.tool, "_claimed", ShortOnce(bench.tool._claimed))
        patched.setattr(email, "_forget", ShortOnce(email._forget))
        assert (await call_tool(bench.tool, asked)).outcome is Outcome.UNKNOWN

    again = replace(asked, idempotency_key=f"{asked.idempotency_key}:by-a-person")
    assert (await call_tool(bench.tool, again)).outcome is Outcome.DONE
    assert bench.acts() == 1
