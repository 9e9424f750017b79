"""AgentAck judges Signoff: whether what was done is what people were shown and said yes to."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agentack.cli import EXIT_FAIL, EXIT_PASS
from agentack.cli import main as agentack
from agentack.engine import evaluate_events
from agentack.models import TraceEvent
from agentack.parser import write_jsonl
from agentack.policy import Policy

from bot.config import load_config
from bot.storage.opening import open_reader
from bot.trail import exported
from lifecycle.ports import Call, Transaction
from lifecycle.proposal import Proposal
from tests.builders import MAIL, a_policy, the_tools
from tests.conftest import ROOT
from tests.judges import straying
from tests.judges.straying import House
from tests.judges.tracing import Called, Entry, Notes, traced
from tests.stage import in_memory, staged
from tests.stories.any_deeds import the_policy
from tests.stories.any_order import Disorder

DATABASE = "sqlite:///judged.db"
#: Every call needs a yes. A freeze ends with a thaw, and is judged by itself.
EVERYTHING = Policy(require_approval_for=("*",), stop_is_terminal=False)
UNTIL_THAW = Policy(require_approval_for=("*",))
LIVES = range(500, 522)
STEPS = 90


class Noting(Disorder):
    """A life in which anything may come at any time, and everybody notes what they do."""

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        self.notes = Notes(world)

    async def _submitted(self, document: dict[str, Any]) -> None:
        self.notes.sends(document)
        await super()._submitted(document)

    async def _called(self, call: Call) -> dict[str, Any]:
        await self.notes.called(call)
        return await super()._called(call)

    async def lives(self) -> None:
        for _ in range(STEPS):
            await self.does_something()
            await self.turns_of_the_loop(1)  # what began has begun
        await self.left_alone()
        await self.looked_after()

    def made(self) -> list[Called]:
        return self.notes.made(lambda tool: self.tools[tool].idempotent)


def recorded(tx: Transaction) -> tuple[list[Entry], dict[str, Proposal]]:
    """Return the trail as it is exported, and every row."""
    rows = {named: tx.proposals.get(named) for named in tx.proposals.ids_after("", 1_000)}
    return list(tx.audit.exported(0, 100_000)), {k: row for k, row in rows.items() if row}


def found(events: Sequence[TraceEvent], policy: Policy = EVERYTHING) -> set[tuple[str, str]]:
    """Return what the judge found, with the call that it is about."""
    report = evaluate_events(list(events), policy=policy)
    return {(each.rule_id, str(each.action_id)) for each in report.findings}


async def judged(house: House) -> set[str]:
    """Let a house live; return what is found in the whole of it, or in a freeze."""
    await house.lives()
    entries, rows = await house.world.store.read(recorded)
    told = [entry for entry in entries if house.tells(entry)]
    whole, until_thaw = traced(told, rows, house.notes, house.notes.calls)
    in_freezes = {each for part in until_thaw for each, _ in found(part, UNTIL_THAW)}
    return {each for each, _ in found(whole)} | (in_freezes & {"ACK008"})


async def test_whatever_comes_in_whatever_order_nothing_is_done_without_its_own_yes(
    tmp_path: Path,
) -> None:
    seen: Counter[str] = Counter()
    for seed in LIVES:
        async with in_memory(tmp_path, the_policy()) as world:
            life = Noting(world, seed)
            await life.lives()
            entries, rows = await world.store.read(recorded)
        whole, until_thaw = traced(entries, rows, life.notes, life.made())
        assert found(whole) == set(), seed
        for part in until_thaw:
            about = {call for rule, call in found(part, UNTIL_THAW) if rule == "ACK008"}
            assert about == {call for call in about if ":roll_back:" in call}, seed
        seen.update(_what_is_in(whole))
        seen["thawed"] += len(until_thaw)

    wanted = ("execute", "commit", "roll_back", "allow", "deny", "asked anew", "blocked", "thawed")
    assert all(seen[each] for each in wanted), seen


def _what_is_in(events: Sequence[TraceEvent]) -> Counter[str]:
    """Count what the judge had to look at."""
    seen: Counter[str] = Counter()
    for event in events:
        verb = str(event.action_id).split(":")[1:2]
        seen.update(verb if event.type == "action_executed" else ())
        seen.update([event.decision] if event.decision else ())
        seen["blocked"] += event.type == "action_blocked"
        again = event.type == "approval_requested" and not str(event.approval_id).endswith("/1")
        seen["asked anew"] += again
    return seen


@pytest.mark.parametrize(("wrong", "status"), [(House, EXIT_PASS), (straying.Deaf, EXIT_FAIL)])
async def test_the_published_command_reads_the_exported_trail_of_a_file(
    tmp_path: Path, wrong: type[House], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async with staged(DATABASE, tmp_path) as world:
        house = wrong(world)
        await house.lives()
    config = replace(load_config(ROOT / "config.yaml"), path=tmp_path / "config.yaml")
    lines: list[str] = []
    await exported(replace(config, database=DATABASE), lines.append)
    reader = await open_reader(DATABASE, tmp_path)
    _, rows = await reader.read(recorded)
    await reader.close()
    whole, _ = traced(map(json.loads, lines), rows, house.notes, house.notes.calls)
    write_jsonl(tmp_path / "trace.jsonl", whole)
    (tmp_path / "policy.toml").write_text(EVERYTHING.to_toml(), "utf-8")

    done = agentack(
        ["check", str(tmp_path / "trace.jsonl"), "--policy", str(tmp_path / "policy.toml")]
    )

    assert done == status, capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "codes"),
    [
        (House, set()),
        (straying.Unasked, {"ACK001", "ACK009"}),
        (straying.Deaf, {"ACK002", "ACK006"}),
        (straying.Embroidering, {"ACK003"}),
        (straying.Stammering, {"ACK004"}),
        (straying.Slow, {"ACK005"}),
        (straying.Eager, {"ACK006"}),
        (straying.Stubborn, {"ACK007", "ACK009"}),
        (straying.Restless, {"ACK008"}),
        (straying.Silent, {"ACK009"}),
    ],
)
async def test_the_judge_finds_what_is_wrong_on_purpose(
    tmp_path: Path, wrong: type[House], codes: set[str]
) -> None:
    async with in_memory(tmp_path) as world:
        assert await judged(wrong(world)) == codes


async def test_what_a_dead_process_may_have_done_is_called_again_under_the_same_key_only(
    tmp_path: Path,
) -> None:
    """The judge calls that a replay. We do it where a tool is marked idempotent, which makes it
    once under a key (design section 7); any other call waits for a person."""
    tools = the_tools()
    again = {"send-email": replace(tools["send-email"], idempotent=True)}
    async with in_memory(tmp_path, a_policy(tools=tools | again)) as world:
        house = House(world)
        await _dies_at_work(house)
        await world.passes(minutes=16)
        entries, rows = await world.store.read(recorded)

    notes = house.notes
    assert found(traced(entries, rows, notes, notes.calls)[0]) == {("ACK004", "p1:execute:1")}
    assert found(traced(entries, rows, notes, notes.made(lambda tool: True))[0]) == set()


async def test_an_approval_lasts_until_the_deadline_that_the_card_shows(tmp_path: Path) -> None:
    """Where a decision names no end, the judge gives it 300 s. Ours always has one."""
    async with in_memory(tmp_path) as world:
        house = House(world)
        now_ms = world.clock.now_ms()
        hours = {"valid_from_ms": now_ms + 600_000, "valid_until_ms": now_ms + 7_200_000}
        await house.proposes(time_window=hours | {"max_duration_ms": 60_000})
        await world.approves("ana", "p1")
        for _ in range(2):
            await world.passes(minutes=16)
        entries, rows = await world.store.read(recorded)

    whole, _ = traced(entries, rows, house.notes, house.notes.calls)
    assert found(whole) == set()
    endless = [replace(event, expires_at=None) for event in whole]
    assert found(endless) == {("ACK005", "p1:execute:1")}


async def test_in_a_freeze_nothing_begins_and_what_is_stopped_is_taken_back(
    tmp_path: Path,
) -> None:
    """To the judge every call after a stop is one too many, that which takes back as well."""
    async with in_memory(tmp_path) as world:
        house = House(world)
        for named, subject in (("p1", "One"), ("p2", "Two")):
            await house.proposes(named, parameters=MAIL["parameters"] | {"subject": subject})
        await world.approves("ana", "p1")
        await world.workflow.freeze("looking", world.sender("ana"))
        await world.approves("ana", "p2")
        await world.rejects("ben", "p1")
        await world.passes(minutes=1)
        await world.workflow.thaw(world.sender("ana"))
        await world.passes(minutes=1)
        await world.passes(minutes=16)
        entries, rows = await world.store.read(recorded)

    whole, (until_thaw,) = traced(entries, rows, house.notes, house.notes.calls)
    assert found(whole) == set()
    after_the_stop = {call for rule, call in found(until_thaw, UNTIL_THAW) if rule == "ACK008"}
    assert after_the_stop == {"p1:roll_back:1"}
    assert house.tool.verbs() == ["execute", "roll_back", "execute", "commit"]


async def _dies_at_work(house: House) -> None:
    """Let the process die while the tool is at work, and another one begin."""
    reached = asyncio.Event()

    async def at_work(call: Call) -> Mapping[str, Any]:
        await house.reached(call)
        reached.set()
        await asyncio.Event().wait()
        return {}

    house.tool.on["execute"] = at_work
    await house.proposes()
    await house.world.workflow.approve("p1", house.world.sender("ana"))
    await reached.wait()
    cut_off = set(house.world.workflow.world.background.tasks)
    for task in cut_off:
        task.cancel()
    await asyncio.gather(*cut_off, return_exceptions=True)
    house.tool.on["execute"] = house.reached
    await house.world.restarts()
