"""A full disk makes the terminal neither deaf nor mute: each line is read and told what is true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.chat.terminal import client as reading
from bot.chat.terminal.documents import Abandoned
from lifecycle.ports import Call, RowUnreadable
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.stage import staged
from tests.stories.unrecorded import FILE, break_audit, mend_audit
from tests.terminal import SEARCH, Terminal, a_terminal, documents

MAILER = "send-email"


class Typist:
    """Somebody at the terminal who types one line after the other."""

    amid = False

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def type(self, *lines: str) -> None:
        for line in lines:
            self._lines.put_nowait(line.encode())

    def leave(self) -> None:
        self._lines.put_nowait(None)

    async def next(self, *, within: bool = False) -> bytes | None:
        return await self._lines.get()


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    """A terminal over a real file that a test can break."""
    async with staged(f"sqlite:///{FILE}", tmp_path) as world:
        yield a_terminal(world=world)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(reading, "_LOOK_S", 0.01)


def fills_the_disk(folder: Path) -> Any:
    """What a tool does that is done, and of which nothing can be written."""

    async def does(_: Call) -> dict[str, Any]:
        break_audit(folder)
        return {}

    return does


def answer_in(lines: list[str]) -> str:
    """Return the answer to what was typed; that the disk is full is told whenever it is noticed."""
    return next(line for line in lines if not line.startswith("The store cannot be written since"))


async def freed(terminal: Terminal, folder: Path) -> None:
    """Free the disk, and let what waited for that go on."""
    mend_audit(folder)
    terminal.world.clock.advance(60)
    await terminal.world.workflow.idle()


async def printed(terminal: Terminal, words: str) -> str:
    """Wait until a line with these words is there."""
    async with asyncio.timeout(20):
        while True:
            if found := [line for line in terminal.printed if words in line]:
                return found[0]
            await asyncio.sleep(0.01)


async def test_a_stop_is_kept_while_what_a_tool_did_cannot_be_written(
    terminal: Terminal, tmp_path: Path
) -> None:
    world = terminal.world
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.proposes(PROD, proposal_id="d1")
    world.tool(MAILER).on["execute"] = fills_the_disk(tmp_path)
    terminal.fresh()

    async with asyncio.timeout(20):
        await terminal.types("approve m1")
        kept = await terminal.types("ben: reject d1 not this")
        frozen = await terminal.types("freeze now")
        thawed = await terminal.types("thaw")
        approved = await terminal.types("ben: approve d1")
        looked = await terminal.types("pending")
        status = await terminal.types("status")

    for stop in (kept, frozen):
        assert answer_in(stop).startswith("Kept: the store cannot be written now")
    assert [stop["proposal_id"] for stop in world.spool.stops] == ["d1", ""]
    for refused in (thawed, approved):
        assert "so nothing was done" in answer_in(refused)
        assert "audit_unavailable" in answer_in(refused)
    assert "1 pending" in looked
    assert any("The store cannot be written since" in line for line in status)
    assert any("Held, until a stop can be carried out: everything" in line for line in status)
    assert not [line for line in (*frozen, *approved, *looked, *status) if "🔔" in line]

    await freed(terminal, tmp_path)
    await world.keeps_house()
    assert (await world.proposal("d1")).explanation == "not this"
    assert (await world.proposal("m1")).state is State.EXECUTING
    assert any("FROZEN by ana" in line for line in await terminal.types("status"))


async def test_the_answer_of_a_call_that_cannot_be_written_follows_and_holds_up_no_line(
    terminal: Terminal, tmp_path: Path
) -> None:
    await terminal.proposes(PROD, proposal_id="d1")
    terminal.world.tool("search").on["execute"] = fills_the_disk(tmp_path)

    async with asyncio.timeout(20):
        answer = terminal.proposes(SEARCH, proposal_id="s1")
        with pytest.raises(IndexError):
            await answer
        kept = await terminal.types("reject d1 not this")
    waiting = documents(terminal.printed)[-1]["proposal_id"]
    await freed(terminal, tmp_path)
    await printed(terminal, '"proposal_id":"s1"')
    told = [each["state"] for each in documents(terminal.printed) if each["proposal_id"] == "s1"]
    await terminal.client.settled()

    assert waiting == "d1"
    assert answer_in(kept).startswith("Kept")
    assert any("the answer follows" in line for line in terminal.printed)
    assert told == ["completed"]


async def test_a_line_takes_as_long_as_its_tool_where_writes_work(terminal: Terminal) -> None:
    async def takes_its_time(_: Call) -> dict[str, Any]:
        await asyncio.sleep(0.3)
        return {}

    terminal.world.tool("search").on["execute"] = takes_its_time

    assert (await terminal.proposes(SEARCH, proposal_id="s1"))["state"] == "completed"


async def test_a_row_that_cannot_be_written_holds_up_no_line(terminal: Terminal) -> None:
    world = terminal.world.workflow.world

    def gutted(_: object) -> None:
        raise RowUnreadable("p1 cannot be read.")

    waits = world.background.spawn(world.write_until_taken(gutted))
    async with asyncio.timeout(20):
        assert await terminal.types("pending") == ["0 pending"]
        assert (await terminal.proposes(PROD, proposal_id="d1"))["state"] == "sentinel_approved"
    assert any("🔔" in line for line in terminal.printed)
    waits.cancel()


async def test_what_is_shown_and_cannot_be_noted_is_shown_once_and_people_are_told_why(
    terminal: Terminal, tmp_path: Path
) -> None:
    world, file, elsewhere = terminal.world, tmp_path / FILE, tmp_path / "elsewhere"
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.proposes(PROD, proposal_id="d1")
    await world.workflow.reject("m1", world.sender("ben"), "not this")  # on another surface
    file.rename(elsewhere)

    looked = [await terminal.types("pending") for _ in range(4)]
    status = await terminal.types("status")

    assert ["not this" in " ".join(lines) for lines in looked] == [True, False, False, False]
    assert any("The store cannot be written since" in line for line in status)

    elsewhere.rename(file)
    await terminal.types("approve d1")
    status = await terminal.types("status")
    assert not any("The store cannot be written since" in line for line in status)
    assert (await world.proposal("d1")).state is State.COMPLETED


async def test_the_end_of_the_input_waits_for_what_was_done_to_be_written(
    terminal: Terminal, tmp_path: Path
) -> None:
    await terminal.proposes(MAIL, proposal_id="m1")
    terminal.world.tool(MAILER).on["execute"] = fills_the_disk(tmp_path)
    terminal.world.tool("search").on["execute"] = fills_the_disk(tmp_path)
    typist = Typist()
    running = asyncio.create_task(terminal.client.run(typist))
    typist.type("approve m1", "status")
    await printed(terminal, "Not frozen")
    typist.leave()
    told = await printed(terminal, "so this ends as soon as the store can be written")

    await asyncio.sleep(0.3)
    assert not running.done()
    await freed(terminal, tmp_path)
    await asyncio.wait_for(running, 20)

    assert "Ctrl-C" in told
    assert (await terminal.world.proposal("m1")).state is State.EXECUTING
    assert any("execute done" in line for line in terminal.printed)


async def test_what_still_waits_is_let_go_of_with_the_terminal(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.world.tool("search").on["execute"] = fills_the_disk(tmp_path)
    typist = Typist()
    running = asyncio.create_task(terminal.client.run(typist))
    with pytest.raises(IndexError):
        await terminal.proposes(SEARCH, proposal_id="s1")
    works = set(terminal.client._works)
    running.cancel()
    await asyncio.gather(running, *works, return_exceptions=True)

    assert works
    assert all(work.done() for work in works)
    await freed(terminal, tmp_path)
    assert (await terminal.world.proposal("s1")).state is State.COMPLETED


async def test_a_mistake_of_ours_in_what_is_due_costs_no_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks() -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(terminal.world.workflow, "open_ready", breaks)
    typist = Typist()
    typist.type("pending", "help pending")
    typist.leave()
    await terminal.client.run(typist)

    assert terminal.printed[0] == "0 pending"
    assert terminal.printed[1].startswith("pending [page]")


async def test_a_mistake_of_ours_with_a_file_costs_an_answer_and_not_the_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(terminal.world.workflow, "freeze", breaks)
        assert "Something went wrong" in (await terminal.types("freeze now"))[0]
    assert await terminal.types("pending") == ["0 pending"]


async def test_a_line_that_is_given_up_is_followed_by_the_next(terminal: Terminal) -> None:
    class GivingUp(Typist):
        async def next(self, *, within: bool = False) -> bytes | None:
            if within:
                raise Abandoned
            return await super().next()

    typist = GivingUp()
    typist.type("leila: propose {", "pending")
    typist.leave()
    await terminal.client.run(typist)

    assert terminal.printed == ["0 pending"]
