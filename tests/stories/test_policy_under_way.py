"""A new policy arrives while a document or an approval is on its way to the store."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from lifecycle.answers import Answer
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.judging.open_windows import in_window
from lifecycle.opening import Opening, begin
from lifecycle.policy import Level, Policy, RuleSettings
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention
from lifecycle.sentinel import Facts
from lifecycle.state import State
from sentinel_rules import load_rules
from tests.builders import MAIL, PROD, a_document
from tests.fakes.tools import waiting_for
from tests.roads import adopted
from tests.stories.unrecorded import SEARCH
from tests.world import World, an_unhurried_sentinel

T = TypeVar("T")

FORBIDS = {
    "allowed_side_effects": [],
    "forbidden_effects": ["delete"],
    "max_affected_records": 1,
    "reversible_required": False,
}


def without(policy: Policy, tool: str) -> Policy:
    tools = {name: each for name, each in policy.tools.items() if name != tool}
    return replace(policy, digest="pol1_" + "8" * 64, tools=tools)


def more_dangerous(policy: Policy) -> Policy:
    search = replace(policy.tools["search"], effects=("delete",))
    return replace(policy, digest="pol1_" + "9" * 64, tools={**policy.tools, "search": search})


def without_leila(policy: Policy) -> Policy:
    agents = {name: each for name, each in policy.agents.items() if name != "leila"}
    people = {name: each for name, each in policy.people.items() if name != "leila"}
    return replace(policy, digest="pol1_" + "7" * 64, agents=agents, people=people)


async def overtaking(world: World, policy: Policy) -> asyncio.Task[None]:
    """Let the policy be taken up just now, with another unit between it and what comes next."""
    sentinel = Sentinel(load_rules(policy.rules))
    adopting = asyncio.create_task(adopted(world.workflow, policy, sentinel))
    await asyncio.sleep(0)
    between = asyncio.create_task(world.store.write(lambda tx: time.sleep(0.02)))
    adopting.add_done_callback(lambda _: between)
    return adopting


async def submitted(world: World, document: dict[str, Any], adopting: asyncio.Task[None]) -> Answer:
    raw = json.dumps(document).encode()
    answer = await world.workflow.submit(raw, world.sender("leila"))
    await adopting
    await world.keeps_house()
    return answer


@pytest.mark.parametrize("changed", [more_dangerous, without_leila])
@pytest.mark.parametrize("notes", ["", "Judged in a thread of its own. " * 200])
async def test_what_the_new_policy_forbids_never_runs_under_half_of_the_old_one(
    world: World, changed: Any, notes: str
) -> None:
    document = a_document(SEARCH, actor="leila", ts_ms=world.clock.now_ms(), risk_envelope=FORBIDS)
    document["parameters"] = {"q": f"terms {notes}"}
    adopting = await overtaking(world, changed(world.workflow.policy))

    answer = await submitted(world, document, adopting)

    assert world.tool("search").calls == []
    assert answer.state in (None, "rejected")
    assert answer.reason in ("blast_radius_bounded", "unknown_agent")


async def test_a_tool_that_is_gone_when_it_is_to_begin_is_no_false_alarm(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.approves("ana", "p1")
    approved = await world.proposal("p1")
    gatekeeper, policy = world.workflow.gatekeeper, without(world.workflow.policy, approved.tool)
    checked = await gatekeeper.check(approved, executing=True)
    assert checked is not None
    moment = replace(world.workflow.world.moment(), policy=policy)

    opening = await world.store.write(lambda tx: begin(tx, moment, approved, *reversed(checked)))
    await world.adopts(tools=policy.tools)
    await world.keeps_house()

    assert opening == Opening(approved)
    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert world.tool("production-deploy").calls == []


async def test_what_a_new_policy_forbids_while_its_tool_is_at_work_is_taken_back_once_it_answers(
    world: World,
) -> None:
    gate = asyncio.Event()
    world.tool("send-email").on["execute"] = waiting_for(gate)
    await world.submits(MAIL, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    forbids = RuleSettings(Level.HARD, {"phrases": ["hello"]})
    policy = replace(
        world.workflow.policy,
        digest="pol1_" + "6" * 64,
        rules={**world.workflow.policy.rules, "prohibited_content": forbids},
    )
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
    at_work, moment = await world.proposal("p1"), world.workflow.world.moment()
    tool = policy.tools[at_work.tool]
    judged = await world.store.write(lambda tx: in_window(tx, moment, at_work, tool, None))
    assert judged.proposal == at_work, "it is not judged before it could be acted on"

    gate.set()
    await world.workflow.idle()
    await world.workflow.recheck()
    await world.workflow.idle()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


class TakesItBack:
    """A store under which a mistaken policy holds while something is judged anew: from when the
    facts are read until those who approved are."""

    def __init__(self, world: World, mistaken: Policy, meant: Policy) -> None:
        self._inner, self._workflow = world.store, world.workflow
        self._puts = {Facts: [mistaken], frozenset: [meant]}
        world.workflow.world.store = self

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        return await self._inner.write(unit)

    async def read(self, view: Callable[[Transaction], T]) -> T:
        value = await self._inner.read(view)
        if waits := self._puts.get(type(value)):
            policy = waits.pop()
            await self._workflow.put_in_force(policy, an_unhurried_sentinel(policy), lambda: None)
        return value

    async def close(self) -> None:
        await self._inner.close()


async def test_what_a_mistaken_policy_found_ends_nothing_once_it_was_taken_back(
    world: World,
) -> None:
    """It was rejected in the name of a policy that allows it, and what people approved was lost."""
    await world.submits(MAIL, proposal_id="p1")
    meant = replace(world.workflow.policy, digest="pol1_" + "5" * 64)
    forbids = RuleSettings(Level.HARD, {"phrases": ["hello"]})
    rules = {**meant.rules, "prohibited_content": forbids}
    TakesItBack(world, replace(meant, digest="pol1_" + "4" * 64, rules=rules), meant)

    await adopted(world.workflow, meant, an_unhurried_sentinel(meant))
    await world.workflow.recheck()

    stands = await world.proposal("p1")
    assert (stands.state, stands.checked_policy_digest) == (State.SENTINEL_APPROVED, meant.digest)


async def test_a_policy_ends_nothing_any_more_once_another_stands_in_the_trail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was judged by the mistaken one, and rejected behind the entry that took that one back."""
    await world.submits(MAIL, proposal_id="p1")
    meant, check = world.workflow.policy, Gatekeeper.check
    forbids = RuleSettings(Level.HARD, {"phrases": ["hello"]})
    rules = {**meant.rules, "prohibited_content": forbids}
    mistaken = replace(meant, digest="pol1_" + "4" * 64, rules=rules)
    adopting: list[asyncio.Task[None]] = []

    async def overtaken(gatekeeper: Gatekeeper, *asked: Any, **how: Any) -> Any:
        monkeypatch.setattr(Gatekeeper, "check", check)
        checked = await check(gatekeeper, *asked, **how)
        adopting.append(await overtaking(world, meant))
        return checked

    monkeypatch.setattr(Gatekeeper, "check", overtaken)
    await adopted(world.workflow, mistaken, an_unhurried_sentinel(mistaken))
    await adopting[0]
    await world.workflow.recheck()

    stands = await world.proposal("p1")
    assert (stands.state, stands.checked_policy_digest) == (State.SENTINEL_APPROVED, meant.digest)


@pytest.mark.parametrize("stages", [True, False])
async def test_whether_a_commit_has_to_follow_is_what_it_was_when_it_ran(
    world: World, stages: bool
) -> None:
    """A mail that was drafted is not sent, and none is sent twice, by a config that is changed."""
    tools = dict(world.workflow.policy.tools)
    send = tools["send-email"]
    await world.adopts(tools=tools | {send.name: replace(send, deferred=stages)})
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)

    await world.adopts(tools=tools | {send.name: replace(send, deferred=not stages)})
    await world.passes(minutes=16)

    ended = await world.proposal(proposal_id)
    assert world.tool("send-email").verbs() == ["execute"]
    if stages:
        assert (ended.state, ended.attention) == (State.EXECUTING, Attention.COMMIT_FAILED)
        await world.adopts(tools=tools)
        await world.workflow.retry(proposal_id, world.sender("ana"))
        await world.workflow.idle()
        assert world.tool("send-email").verbs() == ["execute", "commit"]
    else:
        assert ended.state is State.COMPLETED
