"""Where a path leads is read again before whatever was judged long ago: a commit, and a call that a
crash cut off."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.checking.rule_run import Run, Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.tools import NotingToolbox
from tests.stories.test_restart import dies_in, forget_calls
from tests.world import World, rules_of

MAILS, DEPLOYS = "send-email", "production-deploy"


class FollowingToolbox(NotingToolbox):
    """Noting tools that follow links."""

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)


async def bound_to(world: World, folder: Path, *, level: Level = Level.HARD) -> Path:
    """Give two tools a root, of which the second is idempotent; return a file below it."""
    path = folder / "work" / "a.csv"
    path.parent.mkdir()
    path.write_text("a")
    (folder / "outside.csv").write_text("b")
    world.toolbox = world.workflow.world.toolbox = FollowingToolbox()
    rules, tools = dict(world.workflow.policy.rules), dict(world.workflow.policy.tools)
    roots = {"roots": dict.fromkeys((MAILS, DEPLOYS), str(path.parent))}
    rule = rules["blast_radius_bounded"]
    rules["blast_radius_bounded"] = replace(rule, settings=roots, level=level)
    tools[DEPLOYS] = replace(tools[DEPLOYS], idempotent=True)
    await world.adopts(rules=rules, tools=tools)
    return path


def leads_away(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parents[1] / "outside.csv")


def leads_back(path: Path) -> None:
    path.unlink()
    path.write_text("a")


async def staged(world: World, path: Path) -> None:
    parameters = MAIL["parameters"] | {"path": str(path)}
    await world.submits(MAIL, proposal_id="p1", parameters=parameters)
    await world.approves("ana", "p1")
    assert world.tool(MAILS).verbs() == ["execute"]


@pytest.mark.parametrize("level", [Level.HARD, Level.SOFT])
async def test_what_was_staged_is_not_committed_where_its_path_leads_elsewhere_by_now(
    world: World, tmp_path: Path, level: Level
) -> None:
    """The commit wrote through a link that was laid while the window was open."""
    path = await bound_to(world, tmp_path, level=level)
    await staged(world, path)
    leads_away(path)

    await world.passes(minutes=16)

    held = await world.proposal("p1")
    assert world.tool(MAILS).verbs() == ["execute"]
    assert (held.state, held.attention) == (State.EXECUTING, Attention.COMMIT_FAILED)
    assert "Sentinel objects now" in held.attention_why


async def test_a_person_has_it_committed_once_the_path_leads_back(
    world: World, tmp_path: Path
) -> None:
    path = await bound_to(world, tmp_path)
    await staged(world, path)
    leads_away(path)
    await world.passes(minutes=16)
    refused = await world.workflow.retry("p1", world.sender("ana"))
    leads_back(path)

    tried = await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()

    assert (refused.code, tried.code) == ("blast_radius_bounded", None)
    assert world.tool(MAILS).verbs() == ["execute", "commit"]
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_taking_back_is_refused_by_no_path(world: World, tmp_path: Path) -> None:
    path = await bound_to(world, tmp_path)
    await staged(world, path)
    leads_away(path)

    await world.workflow.roll_back("p1", world.sender("ana"), "not this")
    await world.workflow.idle()

    assert world.tool(MAILS).verbs() == ["execute", "roll_back"]


async def test_what_leads_where_it_did_is_committed(world: World, tmp_path: Path) -> None:
    await staged(world, await bound_to(world, tmp_path))

    await world.passes(minutes=16)

    assert world.tool(MAILS).verbs() == ["execute", "commit"]


class Busy(Workers):
    """Workers that begin nothing some times, as on a machine that starts no more threads."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def take(self, run: Run[Any]) -> None:
        if self._times:
            self._times -= 1
            raise RuntimeError
        super().take(run)


@pytest.mark.parametrize(("times", "committed"), [(2, True), (9, False)])
async def test_a_path_that_cannot_be_looked_at_in_time_is_looked_at_again_before_people_are_called(
    world: World, tmp_path: Path, times: int, committed: bool
) -> None:
    await staged(world, await bound_to(world, tmp_path))
    law = world.workflow.world.law
    busy = Sentinel(rules_of(law.policy), limit_s=30.0, workers=Busy(times))
    world.workflow.world.law = replace(law, sentinel=busy)

    await world.passes(minutes=16)

    found = await world.proposal("p1")
    assert world.tool(MAILS).verbs() == ["execute", *(["commit"] if committed else [])]
    assert found.attention is (None if committed else Attention.COMMIT_FAILED)


@pytest.mark.parametrize("moved", [True, False])
async def test_a_call_cut_off_is_repeated_only_where_its_path_leads_where_it_did(
    world: World, tmp_path: Path, moved: bool
) -> None:
    path = await bound_to(world, tmp_path)
    await dies_in(world, "execute", DEPLOYS)
    parameters = PROD["parameters"] | {"path": str(path)}
    await world.submits(PROD, proposal_id="p1", parameters=parameters)
    await world.workflow.approve("p1", world.sender("ana"))
    await world.workflow.gatekeeper.open("p1")
    await asyncio.sleep(0)
    assert world.tool(DEPLOYS).verbs() == ["execute"]
    await forget_calls(world)
    world.tool(DEPLOYS).on.clear()
    if moved:
        leads_away(path)

    await world.restarts()
    await world.workflow.idle()

    found = await world.proposal("p1")
    assert world.tool(DEPLOYS).verbs() == ["execute"] * (1 if moved else 2)
    assert found.attention is (Attention.OUTCOME_UNKNOWN if moved else None)
