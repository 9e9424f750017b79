"""What stops something is heard when it is typed, whatever the line before it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.chat.terminal import ahead
from lifecycle.ports import Call
from lifecycle.state import State
from tests.bot.chat.discord.cards import in_window, seeded
from tests.bot.chat.discord.standing import DEPLOY, SEND
from tests.bot.chat.test_terminal_full_disk import Typist
from tests.builders import MAIL, PROD
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_fixtures import discord_stage as discord_stage
from tests.fakes.discord_fixtures import discord_unstarted as discord_unstarted
from tests.fakes.discord_stage import DiscordStage, until
from tests.terminal import AnyTerminal, a_terminal, a_terminal_beside

MEMBERS = "/guilds/700/members/"


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody types: there is a pause before each line."""
    monkeypatch.setattr(ahead, "_PAUSE_S", -1.0)


@asynccontextmanager
async def beside(stage: DiscordStage) -> AsyncIterator[tuple[AnyTerminal, Typist]]:
    """A terminal at which somebody types, beside the bot on Discord."""
    terminal, typist = a_terminal_beside(stage.workflow, stage.broadcast), Typist()
    running = asyncio.create_task(terminal.client.run(typist))
    yield terminal, typist
    typist.leave()
    async with asyncio.timeout(20):
        await running


async def waiting(stage: DiscordStage, typist: Typist, line: str) -> asyncio.Event:
    """Type a line that waits for Discord, and return what lets Discord answer."""
    gate = asyncio.Event()
    asked = stage.server.fails("GET", MEMBERS, gate=gate, times=1)
    typist.type(line)
    await until(lambda: asked.seen, "asked for who approves")
    return gate


async def heard(stage: DiscordStage, proposal_id: str) -> None:
    await until(lambda: stage.workflow.world.heard.of(proposal_id), "the stop was heard")


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("typed", ["reject {} wrong", "roll-back {} wrong", "freeze all of it"])
async def test_no_window_closes_over_a_stop_that_is_typed_while_another_line_waits(
    discord_stage: DiscordStage, typed: str
) -> None:
    stage = discord_stage
    windowed, _ = await in_window(stage)
    other, _ = await seeded(stage, PROD)
    async with beside(stage) as (terminal, typist):
        gate = await waiting(stage, typist, f"ben: approve {other}")
        typist.type(f"ana: {typed.format(windowed)}")
        await heard(stage, windowed)
        stage.clock.advance(901)
        stage.surface.hearing.alive()
        await stage.workflow.close_due()
        assert (await stage.proposal(windowed)).state is State.EXECUTING
        assert "commit" not in stage.tool(SEND).verbs()
        gate.set()
        await until(lambda: len(terminal.printed) >= 2, "answered")
    assert other in terminal.printed[0] or terminal.printed[0].startswith("Approved by ben")
    expected = State.EXECUTING if typed.startswith("freeze") else State.ROLLED_BACK
    assert (await stage.proposal(windowed)).state is expected
    assert "commit" not in stage.tool(SEND).verbs()
    assert not stage.workflow.world.heard.of(windowed)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("typed", ["ben: reject {} no", "leila: withdraw {}"])
async def test_nothing_begins_by_an_approval_that_waits_while_a_stop_of_it_is_typed(
    discord_stage: DiscordStage, typed: str
) -> None:
    stage = discord_stage
    proposal_id, _ = await seeded(stage, PROD)
    async with beside(stage) as (terminal, typist):
        gate = await waiting(stage, typist, f"ana: approve {proposal_id}")
        typist.type(typed.format(proposal_id))
        await heard(stage, proposal_id)
        gate.set()
        await until(lambda: len(terminal.printed) >= 2, "answered")
    assert terminal.printed[0].startswith("Approved by ana")
    assert (await stage.proposal(proposal_id)).state is State.REJECTED
    assert stage.tool(DEPLOY).verbs() == []


@pytest.mark.usefixtures("one_by_one")
async def test_a_stop_that_was_typed_in_time_decides_over_the_deadline(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    first, _ = await seeded(stage, PROD)
    other, _ = await seeded(stage, MAIL)
    async with beside(stage) as (terminal, typist):
        gate = await waiting(stage, typist, f"ben: approve {other}")
        typist.type(f"ana: reject {first} not this one")
        await heard(stage, first)
        deadline_ms = (await stage.proposal(first)).deadline_ms
        stage.clock.set(deadline_ms + 1)
        await stage.workflow.expire_due()
        gate.set()
        await until(lambda: len(terminal.printed) >= 2, "answered")
    stopped = await stage.proposal(first)
    assert (stopped.reason, stopped.explanation) == ("rejected_by_person", "not this one")


@pytest.mark.usefixtures("one_by_one")
async def test_a_stop_is_heard_while_the_tool_of_the_line_before_it_runs() -> None:
    terminal, typist = a_terminal(), Typist()
    world = terminal.world
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.types("ben: approve m1")
    await terminal.proposes(PROD, proposal_id="d1")
    begun, gate = asyncio.Event(), asyncio.Event()

    async def takes_long(_: Call) -> Mapping[str, Any]:
        begun.set()
        await gate.wait()
        return {}

    world.tool(DEPLOY).on["execute"] = takes_long
    running = asyncio.create_task(terminal.client.run(typist))
    typist.type("ben: approve d1")
    await begun.wait()
    typist.type("ana: reject m1 wrong recipient")
    await until(lambda: world.workflow.world.heard.of("m1"), "heard")
    world.clock.advance(901)
    await world.workflow.close_due()
    assert "commit" not in world.tool(SEND).verbs()
    gate.set()
    typist.leave()
    async with asyncio.timeout(20):
        await running
    assert (await world.proposal("m1")).state is State.ROLLED_BACK


async def test_lines_that_were_written_in_one_go_are_worked_as_if_nothing_was_read_ahead() -> None:
    terminal, typist = a_terminal(), Typist()
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.proposes(MAIL, proposal_id="m2", parameters={**MAIL["parameters"], "cc": []})
    terminal.fresh()
    typist.type("ben: approve m1", "ana: roll-back m1 wrong recipient", "pending")
    typist.type("ana: approve m2", "freeze for today", "leila: withdraw m2")
    typist.leave()
    async with asyncio.timeout(20):
        await terminal.client.run(typist)
    assert (await terminal.world.proposal("m1")).state is State.ROLLED_BACK
    assert terminal.world.tool(SEND).verbs() == ["execute", "roll_back", "execute"]
    said = ("Approved", "m1 is being", "1 pending", "Frozen", "m2 is executing already")
    answers = [line for line in terminal.fresh() if line.startswith(said)]
    assert [line.split()[0] for line in answers] == [
        "Approved",
        "m1",
        "1",
        "Approved",
        "Frozen",
        "m2",
    ]


async def test_a_stop_of_something_else_is_heard_at_once_although_written_in_one_go(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    windowed, _ = await in_window(stage)
    other, _ = await seeded(stage, PROD)
    async with beside(stage) as (_, typist):
        gate = asyncio.Event()
        stage.server.fails("GET", MEMBERS, gate=gate, times=1)
        typist.type(f"ben: approve {other}", f"ana: reject {windowed} wrong")
        await heard(stage, windowed)
        gate.set()
    assert (await stage.proposal(windowed)).state is State.ROLLED_BACK


async def test_nothing_begins_over_a_stop_that_was_written_in_one_go_with_an_approval_that_waits(
    discord_stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_WAITED_S", 0.01)
    stage = discord_stage
    proposal_id, _ = await seeded(stage, PROD)
    other, _ = await seeded(stage, MAIL)
    async with beside(stage) as (_, typist):
        gate = asyncio.Event()
        stage.server.fails("GET", MEMBERS, gate=gate, times=1)
        typist.type(f"ben: approve {other}", f"ben: approve {proposal_id}")
        typist.type(f"ana: reject {proposal_id} wrong")
        await heard(stage, proposal_id)
        gate.set()
    assert (await stage.proposal(proposal_id)).state is State.REJECTED
    assert stage.tool(DEPLOY).verbs() == []


@pytest.mark.usefixtures("one_by_one")
async def test_a_stop_that_was_heard_is_carried_out_although_nobody_reads_the_answers(
    discord_stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = discord_stage
    windowed, _ = await in_window(stage)
    other, _ = await seeded(stage, PROD)

    def gone(_: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    async with beside(stage) as (terminal, typist):
        gate = await waiting(stage, typist, f"ben: approve {other}")
        typist.type(f"ana: reject {windowed} wrong")
        await heard(stage, windowed)
        monkeypatch.setattr(terminal.paper, "write", gone)
        gate.set()
        await stage.reaches(windowed, "rolled_back")
    assert not stage.workflow.world.heard.of(windowed)
